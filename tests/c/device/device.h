/*
 * What the tests of devices need: an open device, the kernels of tests/cuda/kernels.ptx, and short names.
 *
 * They run on any driver: on a GPU's, and on the stand-in of tests/cuda/driver, which also checks how it is used. Without
 * either they are skipped.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#ifndef NORN_TESTS_DEVICE_H
#define NORN_TESTS_DEVICE_H

#include "check.h"

#ifndef NORN_KERNELS
#error "NORN_KERNELS: the path of kernels.ptx"
#endif

typedef struct device {
    norn_runtime *rt;
    norn_place place;
    norn_module module;
} device;

/* Opens a runtime and its first device with `config`; ends the test as skipped where there is none. */
static inline device device_open_with(const norn_device_config *config) {
    device d;
    memset(&d, 0, sizeof d);
    CHECK_OK(norn_open(NULL, &d.rt));
    norn_status status = norn_device_open(d.rt, config, &d.place);
    if (status == NORN_E_UNSUPPORTED) {
        printf("skipped: %s\n", norn_last_error());
        CHECK_OK(norn_close(d.rt));
        exit(SKIPPED);
    }
    CHECK_OK(status);
    return d;
}

static inline void device_load_kernels(device *d) {
    FILE *file = fopen(NORN_KERNELS, "rb");
    CHECK(file != NULL);
    static char text[1 << 20];
    size_t bytes = fread(text, 1, sizeof text, file);
    fclose(file);
    CHECK(bytes > 0 && bytes < sizeof text);
    CHECK_OK(norn_module_load(d->rt, d->place, text, bytes, NULL, &d->module));
}

static inline device device_open(void) {
    device d = device_open_with(NULL);
    device_load_kernels(&d);
    return d;
}

static inline norn_kernel device_kernel(const device *d, const char *name) {
    norn_kernel kernel;
    CHECK_OK(norn_kernel_get(d->rt, d->module, name, &kernel));
    return kernel;
}

static inline norn_data device_alloc(const device *d, uint64_t bytes) {
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data data;
    desc.bytes = bytes;
    desc.kind = NORN_MEMORY_DEVICE;
    desc.place = d->place;
    CHECK_OK(norn_data_alloc(d->rt, &desc, &data));
    return data;
}

static inline norn_data device_pinned(const device *d, uint64_t bytes, uint64_t **memory) {
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data data;
    void *pointer;
    desc.bytes = bytes;
    desc.kind = NORN_MEMORY_PINNED;
    CHECK_OK(norn_data_alloc(d->rt, &desc, &data));
    CHECK_OK(norn_data_pointer(d->rt, data, &pointer, NULL));
    *memory = pointer;
    return data;
}

static inline norn_data device_host(const device *d, void *memory, uint64_t bytes) {
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data data;
    desc.ptr = memory;
    desc.bytes = bytes;
    CHECK_OK(norn_data_register(d->rt, &desc, &data));
    return data;
}

static inline norn_token device_copy(const device *d, norn_data from, norn_data to, uint64_t count) {
    norn_slice source = norn_slice_of(from, NORN_U64, count), target = norn_slice_of(to, NORN_U64, count);
    norn_token token;
    CHECK_OK(norn_copy(d->rt, &source, &target, NULL, &token));
    return token;
}

/* Launches a kernel in blocks of 64 threads. */
static inline norn_token device_launch(const device *d, norn_kernel kernel, const norn_argument *arguments, uint64_t count,
                                       const norn_task *how) {
    norn_launch_desc launch = NORN_LAUNCH_INIT;
    norn_token token;
    launch.kernel = kernel;
    launch.grid[0] = 4;
    launch.block[0] = 64;
    launch.arguments = arguments;
    launch.argument_count = count;
    CHECK_OK(norn_launch(d->rt, &launch, how, &token));
    return token;
}

/* x[i] = (x[i] ^ key) * factor + i: the order of two such kernels shows in the result. */
static inline norn_token device_mix(const device *d, norn_kernel mix, norn_data x, uint64_t count, uint64_t key) {
    norn_argument arguments[3];
    arguments[0] = norn_pointer(x, NORN_READ_WRITE);
    arguments[1] = norn_value(&count, sizeof count);
    arguments[2] = norn_value(&key, sizeof key);
    return device_launch(d, mix, arguments, 3, NULL);
}
static inline uint64_t mixed(uint64_t x, uint64_t i, uint64_t key) {
    return (x ^ key) * 6364136223846793005u + i;
}

static inline norn_token device_spin(const device *d, norn_kernel spin, uint64_t ns, norn_data on, int32_t mode) {
    norn_argument argument = norn_value(&ns, sizeof ns);
    norn_access access = norn_access_of(on, mode);
    norn_task how = NORN_TASK_INIT;
    how.accesses = &access;
    how.access_count = on.id != 0;
    return device_launch(d, spin, &argument, 1, &how);
}

#endif
