/*
 * A driver without a device that takes the time which the driver's calls take, so that what norn adds to them can be
 * measured, and looked at with a profiler, on any machine:
 *
 *   LD_LIBRARY_PATH=OUT/paced OUT/device          after build.sh PREFIX OUT
 *
 * PACED=launch,record,wait,query,open_query,kernel sets the nanoseconds of a launch, a record, a wait, a query of an event
 * that has completed and of one that has not, and how long after its launch an empty kernel has completed. What is built in
 * was measured on an H200. It checks nothing and moves no byte; for tests there is the stand-in driver (tests/cuda/driver).
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DONE = 0, NOT_READY = 600, INVALID_VALUE = 1 };

static double launch_ns = 3400, record_ns = 180, wait_ns = 180, query_ns = 1200, open_query_ns = 140, kernel_ns = 4000;

/* When the last work on a stream has completed, or what an event has recorded. */
typedef struct clock_of {
    _Atomic int64_t at;
    char apart[56];
} clock_of;
static clock_of legacy;
static _Thread_local void *current;
static int the_context, the_module, the_pool;

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * (int64_t)1000000000 + time.tv_nsec;
}
static void take(double ns) {
    int64_t end = now_ns() + (int64_t)ns;
    while (now_ns() < end) {}
}
static clock_of *stream_of(void *stream) {
    return (uintptr_t)stream > 2 ? stream : &legacy;
}
static int new_clock(void **clock) {
    *clock = calloc(1, sizeof(clock_of));
    return *clock == NULL ? 2 : DONE;
}

int cuInit(unsigned flags) {
    (void)flags;
    const char *paced = getenv("PACED");
    if (paced != NULL)
        sscanf(paced, "%lf,%lf,%lf,%lf,%lf,%lf", &launch_ns, &record_ns, &wait_ns, &query_ns, &open_query_ns, &kernel_ns);
    return DONE;
}
int cuDriverGetVersion(int *version) { return *version = 13000, DONE; }
int cuGetErrorName(int code, const char **name) {
    return *name = code == NOT_READY ? "CUDA_ERROR_NOT_READY" : "an error", DONE;
}
int cuGetErrorString(int code, const char **text) {
    return (void)code, *text = "of a driver without a device", DONE;
}

/* ----- the device ----- */

int cuDeviceGetCount(int *count) { return *count = 1, DONE; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, DONE; }
int cuDeviceGetName(char *name, int length, int device) {
    return (void)device, snprintf(name, (size_t)length, "paced"), DONE;
}
int cuDeviceGetUuid_v2(void *uuid, int device) { return (void)device, memset(uuid, 1, 16), DONE; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return (void)device, *bytes = (size_t)1 << 36, DONE; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    *value = attribute == 75 ? 9 : attribute == 115; /* capability 9.0, and pools */
    return DONE;
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
    return (void)device, *context = &the_context, DONE;
}
int cuDevicePrimaryCtxRelease_v2(int device) { return (void)device, DONE; }
int cuCtxGetCurrent(void **context) { return *context = current, DONE; }
int cuCtxSetCurrent(void *context) { return current = context, DONE; }
int cuCtxGetDevice(int *device) { return *device = 0, DONE; }
int cuCtxSynchronize(void) { return DONE; }

/* ----- streams and events ----- */

int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
    return (void)flags, (void)priority, new_clock(stream);
}
int cuStreamCreate(void **stream, unsigned flags) { return (void)flags, new_clock(stream); }
int cuStreamDestroy_v2(void *stream) { return free(stream), DONE; }
int cuStreamQuery(void *stream) { return now_ns() >= stream_of(stream)->at ? DONE : NOT_READY; }
int cuStreamSynchronize(void *stream) {
    while (now_ns() < stream_of(stream)->at) {}
    return DONE;
}
int cuStreamWaitEvent(void *stream, clock_of *event, unsigned flags) {
    (void)flags;
    take(wait_ns);
    if (event->at > stream_of(stream)->at) stream_of(stream)->at = event->at;
    return DONE;
}
int cuStreamGetCtx(void *stream, void **context) { return (void)stream, *context = &the_context, DONE; }
int cuEventCreate(void **event, unsigned flags) { return (void)flags, new_clock(event); }
int cuEventDestroy_v2(void *event) { return free(event), DONE; }
int cuEventRecord(clock_of *event, void *stream) {
    take(record_ns);
    event->at = stream_of(stream)->at;
    return DONE;
}
int cuEventQuery(clock_of *event) {
    if (now_ns() >= event->at) return take(query_ns), DONE;
    return take(open_query_ns), NOT_READY;
}
int cuEventSynchronize(clock_of *event) {
    while (now_ns() < event->at) {}
    return DONE;
}

typedef struct host_call {
    void (*function)(void *);
    void *argument;
    int64_t at;
} host_call;
static void *call_on_host(void *argument) {
    host_call call = *(host_call *)argument;
    free(argument);
    int64_t left = call.at - now_ns();
    struct timespec rest = {left / 1000000000, left % 1000000000};
    if (left > 0) nanosleep(&rest, NULL);
    call.function(call.argument);
    return NULL;
}
int cuLaunchHostFunc(void *stream, void (*function)(void *), void *argument) {
    host_call *call = malloc(sizeof *call);
    pthread_t thread;
    if (call == NULL) return 2;
    *call = (host_call){function, argument, stream_of(stream)->at};
    if (pthread_create(&thread, NULL, call_on_host, call) != 0) return free(call), 2;
    return pthread_detach(thread);
}

/* ----- kernels ----- */

int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *names, void **values) {
    (void)image, (void)count, (void)names, (void)values;
    return *module = &the_module, DONE;
}
int cuModuleLoadData(void **module, const void *image) { return (void)image, *module = &the_module, DONE; }
int cuModuleUnload(void *module) { return (void)module, DONE; }
/* 2: a kernel whose argument says how long it lasts. */
int cuModuleGetFunction(void **function, void *module, const char *name) {
    (void)module;
    return *function = (void *)(uintptr_t)(strcmp(name, "spin_ns") == 0 ? 2 : 1), DONE;
}
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared_bytes, void *stream, void **arguments, void **extra) {
    (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z, (void)shared_bytes, (void)extra;
    int64_t lasts = (uintptr_t)function == 2 ? (int64_t) * (uint64_t *)arguments[0] : 0;
    clock_of *clock = stream_of(stream);
    take(launch_ns);
    int64_t earliest = now_ns() + (int64_t)kernel_ns, behind = clock->at + 1000;
    clock->at = (earliest > behind ? earliest : behind) + lasts;
    return DONE;
}

/* ----- memory, which is the host's ----- */

static int allocate(uint64_t *address, size_t bytes) {
    return *address = (uint64_t)(uintptr_t)malloc(bytes), *address == 0 ? 2 : DONE;
}
int cuMemAlloc_v2(uint64_t *address, size_t bytes) { return allocate(address, bytes); }
int cuMemFree_v2(uint64_t address) { return free((void *)(uintptr_t)address), DONE; }
int cuMemAllocFromPoolAsync(uint64_t *address, size_t bytes, void *pool, void *stream) {
    return (void)pool, (void)stream, allocate(address, bytes);
}
int cuMemFreeAsync(uint64_t address, void *stream) { return (void)stream, cuMemFree_v2(address); }
int cuMemPoolCreate(void **pool, const void *properties) { return (void)properties, *pool = &the_pool, DONE; }
int cuMemPoolDestroy(void *pool) { return (void)pool, DONE; }
int cuMemPoolSetAttribute(void *pool, int attribute, void *value) {
    return (void)pool, (void)attribute, (void)value, DONE;
}
int cuMemHostAlloc(void **address, size_t bytes, unsigned flags) {
    return (void)flags, *address = malloc(bytes), *address == NULL ? 2 : DONE;
}
int cuMemFreeHost(void *address) { return free(address), DONE; }
int cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
    return (void)value, (void)attribute, (void)address, INVALID_VALUE;
}

#define TAKES_NO_TIME(name) \
    int name(void); \
    int name(void) { return DONE; }
TAKES_NO_TIME(cuMemcpyAsync)
TAKES_NO_TIME(cuMemcpyPeerAsync)
TAKES_NO_TIME(cuMemcpy2DAsync_v2)
TAKES_NO_TIME(cuMemsetD8Async)
TAKES_NO_TIME(cuMemsetD16Async)
TAKES_NO_TIME(cuMemsetD32Async)
TAKES_NO_TIME(cuMemsetD2D8Async)
TAKES_NO_TIME(cuMemsetD2D16Async)
TAKES_NO_TIME(cuMemsetD2D32Async)
