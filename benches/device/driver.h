/*
 * The driver for the device benchmarks: the calls that they make beside norn's, found as norn finds the driver, so that no
 * CUDA header is needed.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#ifndef NORN_BENCHES_DEVICE_DRIVER_H
#define NORN_BENCHES_DEVICE_DRIVER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <norn.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static struct {
    int (*init)(unsigned);
    int (*retain)(void **, int);
    int (*release)(int);
    int (*set_current)(void *);
    int (*stream_create)(void **, unsigned);
    int (*stream_destroy)(void *);
    int (*stream_synchronize)(void *);
    int (*wait_event)(void *, void *, unsigned);
    int (*event_create)(void **, unsigned);
    int (*event_destroy)(void *);
    int (*event_record)(void *, void *);
    int (*event_query)(void *);
    int (*host_function)(void *, void (*)(void *), void *);
    int (*memory_alloc)(uint64_t *, size_t);
    int (*memory_free)(uint64_t);
    int (*host_alloc)(void **, size_t, unsigned);
    int (*host_free)(void *);
    int (*copy)(uint64_t, uint64_t, size_t, void *);
    int (*load)(void **, const void *);
    int (*unload)(void *);
    int (*function)(void **, void *, const char *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
    /* Graphs: NULL where the driver has none, as the stand-in of norn's tests. */
    int (*begin_capture)(void *, int);
    int (*end_capture)(void *, void **);
    int (*instantiate)(void **, void *, unsigned long long);
    int (*graph_launch)(void *, void *);
    int (*executable_destroy)(void *);
    int (*graph_destroy)(void *);
} cu;

/* Ends the program unless a call of norn's or of a library of CUDA's gave 0. */
static void check(int code, const char *what) {
    if (code == 0) return;
    fprintf(stderr, "%s gave %d (%s)\n", what, code, norn_last_error());
    exit(1);
}
#define DO(call) check((call), #call)

static int find_optional(void *library, const char *name, void *function) {
    void *symbol = library == NULL ? NULL : dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}
static void find(void *library, const char *name, void *function) {
    if (find_optional(library, name, function)) return;
    fprintf(stderr, "%s is not there\n", name);
    exit(1);
}

/* Finds the calls and makes the primary context of a device current on this thread. */
static inline void driver_start(int ordinal) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context;
    if (driver == NULL) driver = dlopen("libcuda.so", RTLD_NOW);
    find(driver, "cuInit", &cu.init);
    find(driver, "cuDevicePrimaryCtxRetain", &cu.retain);
    find(driver, "cuDevicePrimaryCtxRelease_v2", &cu.release);
    find(driver, "cuCtxSetCurrent", &cu.set_current);
    find(driver, "cuStreamCreate", &cu.stream_create);
    find(driver, "cuStreamDestroy_v2", &cu.stream_destroy);
    find(driver, "cuStreamSynchronize", &cu.stream_synchronize);
    find(driver, "cuStreamWaitEvent", &cu.wait_event);
    find(driver, "cuEventCreate", &cu.event_create);
    find(driver, "cuEventDestroy_v2", &cu.event_destroy);
    find(driver, "cuEventRecord", &cu.event_record);
    find(driver, "cuEventQuery", &cu.event_query);
    find(driver, "cuLaunchHostFunc", &cu.host_function);
    find(driver, "cuMemAlloc_v2", &cu.memory_alloc);
    find(driver, "cuMemFree_v2", &cu.memory_free);
    find(driver, "cuMemHostAlloc", &cu.host_alloc);
    find(driver, "cuMemFreeHost", &cu.host_free);
    find(driver, "cuMemcpyAsync", &cu.copy);
    find(driver, "cuModuleLoadData", &cu.load);
    find(driver, "cuModuleUnload", &cu.unload);
    find(driver, "cuModuleGetFunction", &cu.function);
    find(driver, "cuLaunchKernel", &cu.launch);
    if (!find_optional(driver, "cuStreamBeginCapture_v2", &cu.begin_capture) ||
        !find_optional(driver, "cuStreamEndCapture", &cu.end_capture) ||
        !find_optional(driver, "cuGraphInstantiateWithFlags", &cu.instantiate) ||
        !find_optional(driver, "cuGraphLaunch", &cu.graph_launch) ||
        !find_optional(driver, "cuGraphExecDestroy", &cu.executable_destroy) ||
        !find_optional(driver, "cuGraphDestroy", &cu.graph_destroy))
        cu.graph_launch = NULL;
    DO(cu.init(0));
    DO(cu.retain(&context, ordinal));
    DO(cu.set_current(context));
}

static inline void driver_end(int ordinal) {
    DO(cu.set_current(NULL));
    DO(cu.release(ordinal));
}

static inline double now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}
static inline double cpu_us(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static inline int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static inline double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}

/* A whole number of at least 1, or the program ends. */
static inline int number(const char *text) {
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end != 0 || value < 1 || value > 1 << 30) {
        fprintf(stderr, "%s is no number of at least 1\n", text);
        exit(2);
    }
    return (int)value;
}

/* Opens the device, or ends the program with 77 where there is none. */
static inline norn_device_info open_device(norn_runtime *rt, int streams, norn_place *place) {
    norn_device_config config = NORN_DEVICE_CONFIG_INIT;
    norn_device_info info = NORN_DEVICE_INFO_INIT;
    config.streams = streams;
    if (norn_device_open(rt, &config, place) != NORN_OK) {
        printf("%s\n", norn_last_error());
        exit(77);
    }
    DO(norn_device_get(rt, *place, &info));
    return info;
}

#endif
