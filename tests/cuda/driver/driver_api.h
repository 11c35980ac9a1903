/*
 * The part of the CUDA driver interface that the stand-in implements, declared from the interface's published facts:
 * names, numbers and layouts, under the names that the library exports (cuMemAlloc_v2, not the macro cuMemAlloc).
 * Programs compiled against it run on the stand-in and on the real driver alike. Numbers that nothing here needs
 * are left out.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#ifndef NORN_STANDIN_DRIVER_API_H
#define NORN_STANDIN_DRIVER_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUarray_st *CUarray;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUuuid_st {
    char bytes[16];
} CUuuid;
typedef void (*CUhostFn)(void *arg);
typedef void (*CUstreamCallback)(CUstream stream, CUresult status, void *arg);
typedef size_t (*CUoccupancyB2DSize)(int block);

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_DEINITIALIZED = 4,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_ECC_UNCORRECTABLE = 214,
    CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217,
    CUDA_ERROR_INVALID_PTX = 218,
    CUDA_ERROR_FILE_NOT_FOUND = 301,
    CUDA_ERROR_OPERATING_SYSTEM = 304,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    CUDA_ERROR_LAUNCH_TIMEOUT = 702,
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
    CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705,
    CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    CUDA_ERROR_ASSERT = 710,
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
    CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
    CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
    CUDA_ERROR_MISALIGNED_ADDRESS = 716,
    CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
    CUDA_ERROR_INVALID_PC = 718,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_NOT_PERMITTED = 800,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_UNKNOWN = 999
};

/* Streams without a handle of their own. */
#define CU_STREAM_LEGACY ((CUstream)(uintptr_t)1)
#define CU_STREAM_PER_THREAD ((CUstream)(uintptr_t)2)

enum {
    CU_CTX_SCHED_AUTO = 0,
    CU_CTX_SCHED_SPIN = 1,
    CU_CTX_SCHED_YIELD = 2,
    CU_CTX_SCHED_BLOCKING_SYNC = 4,
    CU_STREAM_DEFAULT = 0,
    CU_STREAM_NON_BLOCKING = 1,
    CU_EVENT_DEFAULT = 0,
    CU_EVENT_BLOCKING_SYNC = 1,
    CU_EVENT_DISABLE_TIMING = 2,
    CU_EVENT_INTERPROCESS = 4,
    CU_MEMHOSTALLOC_PORTABLE = 1,
    CU_MEMHOSTALLOC_DEVICEMAP = 2,
    CU_MEMHOSTALLOC_WRITECOMBINED = 4,
    CU_MEMHOSTREGISTER_PORTABLE = 1,
    CU_MEMHOSTREGISTER_DEVICEMAP = 2,
    CU_MEMHOSTREGISTER_IOMEMORY = 4,
    CU_MEMHOSTREGISTER_READ_ONLY = 8,
    CU_MEM_ATTACH_GLOBAL = 1,
    CU_STREAM_WRITE_VALUE_DEFAULT = 0,
    CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER = 1,
    CU_STREAM_WAIT_VALUE_GEQ = 0,
    CU_STREAM_WAIT_VALUE_EQ = 1,
    CU_STREAM_WAIT_VALUE_AND = 2,
    CU_STREAM_WAIT_VALUE_NOR = 3,
    CU_STREAM_CAPTURE_STATUS_NONE = 0
};

enum { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2, CU_MEMORYTYPE_ARRAY = 3, CU_MEMORYTYPE_UNIFIED = 4 };

enum {
    CU_POINTER_ATTRIBUTE_CONTEXT = 1,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
    CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
    CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,
    CU_POINTER_ATTRIBUTE_BUFFER_ID = 7,
    CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
    CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE = 10,
    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
    CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
    CU_POINTER_ATTRIBUTE_MAPPED = 13,
    CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES = 14,
    CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE = 15,
    CU_POINTER_ATTRIBUTE_ACCESS_FLAGS = 16,
    CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17
};

enum {
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
    CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
    CU_DEVICE_ATTRIBUTE_MAX_PITCH = 11,
    CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
    CU_DEVICE_ATTRIBUTE_GPU_OVERLAP = 15,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
    CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
    CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
    CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS = 31,
    CU_DEVICE_ATTRIBUTE_ECC_ENABLED = 32,
    CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
    CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
    CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
    CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
    CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED = 78,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
    CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
    CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD = 84,
    CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 88,
    CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89,
    CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91,
    CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
    CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED = 113,
    CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED = 116,
    CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1 = 92,
    CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS = 122,
    CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR = 123,
    CU_DEVICE_ATTRIBUTE_NUMA_ID = 131,
    CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID = 134
};

enum {
    CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
    CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC = 2,
    CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
    CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
    CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
    CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6,
    CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
    CU_MEMPOOL_ATTR_USED_MEM_HIGH = 8
};

enum {
    CU_MEM_ALLOCATION_TYPE_PINNED = 1,
    CU_MEM_LOCATION_TYPE_DEVICE = 1,
    CU_MEM_ACCESS_FLAGS_PROT_NONE = 0,
    CU_MEM_ACCESS_FLAGS_PROT_READ = 1,
    CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3
};

typedef struct CUmemLocation {
    int type, id;
} CUmemLocation;
typedef struct CUmemPoolProps {
    int allocType, handleTypes;
    CUmemLocation location;
    void *win32SecurityAttributes;
    size_t maxSize;
    unsigned short usage;
    unsigned char reserved[54];
} CUmemPoolProps;
typedef struct CUmemAccessDesc {
    CUmemLocation location;
    int flags;
} CUmemAccessDesc;

typedef struct CUDA_MEMCPY2D {
    size_t srcXInBytes, srcY;
    int srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    size_t srcPitch;
    size_t dstXInBytes, dstY;
    int dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;
typedef struct CUDA_MEMCPY3D {
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    int srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    void *reserved0;
    size_t srcPitch, srcHeight;
    size_t dstXInBytes, dstY, dstZ, dstLOD;
    int dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    void *reserved1;
    size_t dstPitch, dstHeight;
    size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;
typedef struct CUDA_MEMCPY3D_PEER {
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    int srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    CUcontext srcContext;
    size_t srcPitch, srcHeight;
    size_t dstXInBytes, dstY, dstZ, dstLOD;
    int dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    CUcontext dstContext;
    size_t dstPitch, dstHeight;
    size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D_PEER;

typedef struct CUlaunchConfig {
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    CUstream hStream;
    void *attrs;
    unsigned numAttrs;
} CUlaunchConfig;
#define CU_LAUNCH_PARAM_END ((void *)0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)2)

enum {
    CU_JIT_INFO_LOG_BUFFER = 3,
    CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
    CU_JIT_ERROR_LOG_BUFFER = 5,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
};
enum {
    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
    CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
    CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
};
enum { CU_GET_PROC_ADDRESS_SUCCESS = 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1 };

/* The driver itself, and its errors. */
CUresult cuInit(unsigned flags);
CUresult cuDriverGetVersion(int *version);
CUresult cuGetErrorName(CUresult error, const char **name);
CUresult cuGetErrorString(CUresult error, const char **text);
CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags);
CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status);
CUresult cuGetExportTable(const void **table, const CUuuid *id);

/* Devices. */
CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuDeviceGetCount(int *count);
CUresult cuDeviceGetName(char *name, int length, CUdevice device);
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device);
CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device);
CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device);
CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device);
CUresult cuDeviceGetPCIBusId(char *text, int length, CUdevice device);
CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *text);
CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer);
CUresult cuDeviceGetP2PAttribute(int *value, int attribute, CUdevice device, CUdevice peer);
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device);
CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device);
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags);
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);

/* Contexts. */
CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);
CUresult cuCtxDestroy_v2(CUcontext context);
CUresult cuCtxPushCurrent_v2(CUcontext context);
CUresult cuCtxPopCurrent_v2(CUcontext *context);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxGetCurrent(CUcontext *context);
CUresult cuCtxGetDevice(CUdevice *device);
CUresult cuCtxGetFlags(unsigned *flags);
CUresult cuCtxSetFlags(unsigned flags);
CUresult cuCtxGetApiVersion(CUcontext context, unsigned *version);
CUresult cuCtxGetId(CUcontext context, unsigned long long *id);
CUresult cuCtxSynchronize(void);
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest);
CUresult cuCtxGetLimit(size_t *value, int limit);
CUresult cuCtxSetLimit(int limit, size_t value);
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags);
CUresult cuCtxDisablePeerAccess(CUcontext peer);

/* Memory. */
CUresult cuMemGetInfo_v2(size_t *available, size_t *total);
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address);
CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags);
CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned flags);
CUresult cuMemAllocHost_v2(void **address, size_t bytes);
CUresult cuMemFreeHost(void *address);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *host, unsigned flags);
CUresult cuMemHostGetFlags(unsigned *flags, void *host);
CUresult cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags);
CUresult cuMemHostUnregister(void *host);
CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr address);
CUresult cuPointerGetAttributes(unsigned count, int *attributes, void **values, CUdeviceptr address);
CUresult cuPointerSetAttribute(const void *value, int attribute, CUdeviceptr address);

/* Stream-ordered memory. */
CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream);
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream);
CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props);
CUresult cuMemPoolDestroy(CUmemoryPool pool);
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep);
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, void *value);
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void *value);
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count);
CUresult cuMemPoolGetAccess(int *flags, CUmemoryPool pool, CUmemLocation *location);

/* Copies. */
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext at, CUdeviceptr from, CUcontext peer, size_t bytes);
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext at, CUdeviceptr from, CUcontext peer, size_t bytes, CUstream stream);
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy);
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy);
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream);
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy);
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream);
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy);
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream);

/* Fills. */
CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count);
CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count);
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count);
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream);
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream);
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream);
CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height);
CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height);
CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height);
CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream);
CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream);
CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream);

/* Streams. */
CUresult cuStreamCreate(CUstream *stream, unsigned flags);
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority);
CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuStreamQuery(CUstream stream);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
CUresult cuStreamGetCtx(CUstream stream, CUcontext *context);
CUresult cuStreamGetDevice(CUstream stream, CUdevice *device);
CUresult cuStreamGetFlags(CUstream stream, unsigned *flags);
CUresult cuStreamGetPriority(CUstream stream, int *priority);
CUresult cuStreamGetId(CUstream stream, unsigned long long *id);
CUresult cuStreamIsCapturing(CUstream stream, int *status);
CUresult cuThreadExchangeStreamCaptureMode(int *mode);
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback function, void *arg, unsigned flags);
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *arg);
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags);
CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags);
CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags);
CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags);
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags);
CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags);
CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags);
CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags);

/* Events. */
CUresult cuEventCreate(CUevent *event, unsigned flags);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags);
CUresult cuEventQuery(CUevent event);
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventDestroy_v2(CUevent event);
CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end);
CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end);

/* Modules and kernels. */
CUresult cuModuleLoad(CUmodule *module, const char *path);
CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, int *options, void **values);
CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image);
CUresult cuModuleUnload(CUmodule module);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name);
CUresult cuModuleGetLoadingMode(int *mode);
CUresult cuFuncGetModule(CUmodule *module, CUfunction function);
CUresult cuFuncGetName(const char **name, CUfunction function);
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *bytes);
CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function);
CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value);
CUresult cuFuncSetCacheConfig(CUfunction function, int config);
CUresult cuFuncLoad(CUfunction function);
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **arguments,
                        void **extra);
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments, void **extra);
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                   CUstream stream, void **arguments);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int block, size_t shared_bytes);
CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function, CUoccupancyB2DSize shared,
                                          size_t shared_bytes, int limit);

#ifdef __cplusplus
}
#endif
#endif
