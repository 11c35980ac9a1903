/*
 * What the stand-ins of cuBLAS and cuSOLVER share: handles, and "kernels" that are host functions of the stand-in driver, so
 * that their work is queued on the handle's stream, late and in any order that events allow, and checked like any other.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#ifndef NORN_TESTS_PROVIDERS_KERNELS_H
#define NORN_TESTS_PROVIDERS_KERNELS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdlib.h>
#include <string.h>

#include "../driver/standin.h"

/* As both libraries number them. */
enum { SUCCESS = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 3, INVALID_VALUE = 7, EXECUTION_FAILED = 13, NOT_SUPPORTED = 15 };

typedef struct handle {
    void *stream;
    CUmodule module; /* of its own, so that it goes with the handle; none where there is no stand-in driver */
} handle;

/* A function of the driver that is loaded. */
static inline void *driver_symbol(const char *name) {
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return driver == NULL ? NULL : dlsym(driver, name);
}

static inline int handle_create(handle **made, const standin_kernel *kernels, size_t count, const char *ptx) {
    void *found = standin_symbol("standin_register_kernel");
    void (*enter)(const standin_kernel *);
    int (*load)(CUmodule *, const void *);
    handle *h = calloc(1, sizeof *h);
    if (h == NULL) return ALLOC_FAILED;
    if (found != NULL) {
        memcpy(&enter, &found, sizeof enter);
        for (size_t i = 0; i < count; i++) enter(&kernels[i]);
        found = driver_symbol("cuModuleLoadData");
        memcpy(&load, &found, sizeof load);
        if (load(&h->module, ptx) != 0) {
            free(h);
            return NOT_INITIALIZED;
        }
    }
    *made = h;
    return SUCCESS;
}

static inline int handle_destroy(handle *h) {
    if (h->module != NULL) {
        int (*unload)(CUmodule);
        void *found = driver_symbol("cuModuleUnload");
        memcpy(&unload, &found, sizeof unload);
        unload(h->module);
    }
    free(h);
    return SUCCESS;
}

static inline int handle_launch(handle *h, const char *name, void **arguments) {
    int (*get)(CUfunction *, CUmodule, const char *);
    int (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
    CUfunction function;
    void *found = driver_symbol("cuModuleGetFunction");
    if (h->module == NULL) return NOT_SUPPORTED;
    memcpy(&get, &found, sizeof get);
    found = driver_symbol("cuLaunchKernel");
    memcpy(&launch, &found, sizeof launch);
    if (get(&function, h->module, name) != 0) return EXECUTION_FAILED;
    return launch(function, 1, 1, 1, 1, 1, 1, 0, h->stream, arguments, NULL) == 0 ? SUCCESS : EXECUTION_FAILED;
}

static inline int int_at(const standin_launch *launch, size_t index) {
    int value;
    memcpy(&value, launch->arguments[index], sizeof value);
    return value;
}
static inline double double_at(const standin_launch *launch, size_t index) {
    double value;
    memcpy(&value, launch->arguments[index], sizeof value);
    return value;
}
static inline void *pointer_at(const standin_launch *launch, size_t index) {
    void *value;
    memcpy(&value, launch->arguments[index], sizeof value);
    return value;
}

/* Tells the checker of a matrix by columns. */
static inline void touch_matrix(standin_touch_fn touch, void *to, size_t index, int rows, int cols, int ld, int writes) {
    if (rows <= 0 || cols <= 0) return;
    touch(to, index, 0, ((size_t)ld * (size_t)(cols - 1) + (size_t)rows) * sizeof(double), writes);
}

#endif
