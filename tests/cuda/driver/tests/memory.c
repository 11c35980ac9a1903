/*
 * Memory: apart from the host's, pinned, registered, managed, and what the driver says of an address.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#include "case.h"

#include <signal.h>
#include <sys/mman.h>

/* A child, since it must die: 0 if it died of a segmentation fault. */
static int dies_when(void (*touch)(CUdeviceptr)) {
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        enter(0);
        touch(device_memory(4096));
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS) ? 0 : -1;
}
static void read_it(CUdeviceptr address) { (void)*(volatile char *)(uintptr_t)address; }
static void write_it(CUdeviceptr address) { *(volatile char *)(uintptr_t)address = 1; }

static void host_cannot_touch_device_memory(void) {
    EQUAL(dies_when(read_it), 0);
    EQUAL(dies_when(write_it), 0);
}

static void allocations_are_apart_and_aligned(void) {
    CUdeviceptr all[64];
    size_t sizes[64];
    enter(0);
    for (size_t i = 0; i < 64; ++i) {
        sizes[i] = 1 + i * 37;
        all[i] = device_memory(sizes[i]);
        EQUAL(all[i] % 256, 0);
        for (size_t j = 0; j < i; ++j) CHECK(all[i] + sizes[i] <= all[j] || all[j] + sizes[j] <= all[i]);
    }
    for (size_t i = 0; i < 64; ++i) OK(cuMemFree_v2(all[i]));
    CUdeviceptr none;
    RESULT(cuMemAlloc_v2(&none, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(0));
    leave(0);
}

static void ceiling_is_out_of_memory(void) {
    CUdeviceptr most, more;
    size_t available, total;
    enter(0);
    OK(cuMemGetInfo_v2(&available, &total));
    EQUAL(total, 32 << 20);
    RESULT(cuMemAlloc_v2(&more, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAlloc_v2(&most, total));
    RESULT(cuMemAlloc_v2(&more, 1), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemFree_v2(most));
    OK(cuMemAlloc_v2(&more, total / 2));
    OK(cuMemFree_v2(more));
    leave(0);
}

static void pinned_is_host_memory(void) {
    enter(0);
    unsigned flags = 99;
    char *host;
    CUdeviceptr device;
    OK(cuMemHostAlloc((void **)&host, 4096, CU_MEMHOSTALLOC_PORTABLE));
    memset(host, 1, 4096);
    OK(cuMemHostGetFlags(&flags, host));
    CHECK(flags & CU_MEMHOSTALLOC_PORTABLE);
    OK(cuMemHostGetDevicePointer_v2(&device, host, 0));
    CHECK(device == (CUdeviceptr)(uintptr_t)host);
    OK(cuMemFreeHost(host));
    leave(0);
}

static void registered_once(void) {
    enter(0);
    const size_t bytes = 1 << 16;
    char *host = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(host != MAP_FAILED);
    CUdeviceptr x = device_memory(bytes);
    OK(cuMemHostRegister_v2(host, bytes, CU_MEMHOSTREGISTER_PORTABLE));
    RESULT(cuMemHostRegister_v2(host, bytes, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    memset(host, 3, bytes);
    OK(cuMemcpyHtoD_v2(x, host, bytes));
    OK(cuMemHostUnregister(host));
    RESULT(cuMemHostUnregister(host), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    OK(cuMemFree_v2(x));
    munmap(host, bytes);
    leave(0);
}

static void managed_is_both(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUdeviceptr both;
    int managed = 0;
    OK(cuMemAllocManaged(&both, 64, CU_MEM_ATTACH_GLOBAL));
    uint64_t *host = (uint64_t *)(uintptr_t)both;
    host[0] = 1;
    CUstream stream = new_stream();
    OK(launch_fill(module, stream, both, 8, 9));
    OK(cuStreamSynchronize(stream));
    EQUAL(host[7], 9);
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, both));
    EQUAL(managed, 1);
    OK(cuMemFree_v2(both));
    end_stream(stream);
    OK(cuModuleUnload(module));
    leave(0);
}

static void pointers_are_told_apart(void) {
    CUcontext context = enter(0), found;
    CUdeviceptr device = device_memory(1000), base, as_device;
    char *pinned = pinned_memory(100), pageable[16];
    unsigned type = 99;
    int ordinal = 99;
    size_t bytes = 0;
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 500));
    EQUAL(type, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_CONTEXT, device));
    CHECK(found == context);
    OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device));
    EQUAL(ordinal, 0);
    OK(cuMemGetAddressRange_v2(&base, &bytes, device + 999));
    CHECK(base == device);
    EQUAL(bytes, 1000);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)pinned));
    EQUAL(type, CU_MEMORYTYPE_HOST);
    OK(cuPointerGetAttribute(&as_device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, (CUdeviceptr)(uintptr_t)pinned));
    CHECK(as_device == (CUdeviceptr)(uintptr_t)pinned);
    RESULT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)pageable),
           CUDA_ERROR_INVALID_VALUE);
    int attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
    int managed = 99;
    void *values[] = {&type, &managed};
    type = 99;
    OK(cuPointerGetAttributes(2, attributes, values, (CUdeviceptr)(uintptr_t)pageable));
    EQUAL(type, 0);
    EQUAL(managed, 0);
    OK(cuMemFree_v2(device));
    OK(cuMemFreeHost(pinned));
    leave(0);
}

/* A stale read shows: neither zero nor what was there before. */
static void fresh_memory_is_not_clean(void) {
    enter(0);
    unsigned char host[64] = {0};
    CUdeviceptr x = device_memory(64);
    OK(cuMemsetD8_v2(x, 1, 64));
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    x = device_memory(64);
    OK(cuMemcpyDtoH_v2(host, x, 64));
    CHECK(host[0] != 0 && host[0] != 1 && host[63] != 0 && host[63] != 1);
    OK(cuMemFree_v2(x));
    leave(0);
}

CASES(CASE(host_cannot_touch_device_memory), CASE(allocations_are_apart_and_aligned),
      OWN_WITH(ceiling_is_out_of_memory, "STANDIN_MEMORY=32"), CASE(pinned_is_host_memory), CASE(registered_once),
      CASE(managed_is_both), CASE(pointers_are_told_apart), OWN(fresh_memory_is_not_clean))
