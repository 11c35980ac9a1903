/*
 * The few calls of the driver that an application makes itself in these tests, found in the driver that norn has loaded.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#ifndef NORN_TESTS_RAW_H
#define NORN_TESTS_RAW_H

#include "device/device.h"

#include <dlfcn.h>

static inline void *raw_symbol(const char *name) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (driver == NULL) driver = dlopen("libcuda.so", RTLD_NOW | RTLD_NOLOAD);
    CHECK(driver != NULL);
    void *symbol = dlsym(driver, name);
    CHECK(symbol != NULL);
    return symbol;
}
/* Calls a function of the driver by name with its parameter types. */
#define RAW(name, types, arguments)                                  \
    do {                                                             \
        int(*function_) types;                                       \
        *(void **)&function_ = raw_symbol(name);                     \
        int code_ = function_ arguments;                             \
        if (code_ != 0) fprintf(stderr, "%s gave %d\n", name, code_); \
        CHECK(code_ == 0);                                           \
    } while (0)

/* A context for this thread: the primary one of visible device 0. */
static inline void *raw_context(void) {
    void *context;
    RAW("cuDevicePrimaryCtxRetain", (void **, int), (&context, 0));
    RAW("cuCtxSetCurrent", (void *), (context));
    return context;
}
static inline void raw_context_release(void) {
    RAW("cuCtxSetCurrent", (void *), (NULL));
    RAW("cuDevicePrimaryCtxRelease_v2", (int), (0));
}
static inline void *raw_stream(void) {
    void *stream;
    RAW("cuStreamCreate", (void **, unsigned), (&stream, 1));
    return stream;
}
static inline void raw_stream_end(void *stream) {
    RAW("cuStreamSynchronize", (void *), (stream));
    RAW("cuStreamDestroy_v2", (void *), (stream));
}
static inline void raw_copy(uint64_t to, uint64_t from, size_t bytes, void *stream) {
    RAW("cuMemcpyAsync", (uint64_t, uint64_t, size_t, void *), (to, from, bytes, stream));
}

#endif
