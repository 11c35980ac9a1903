/* Kernels from source; an error of the compiler comes back with its log, and one of the driver's with its own.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/standin.h"

static const char source[] = "extern \"C\" __global__ void fill_u64(unsigned long long *x, unsigned long long n,\n"
                             "                                    unsigned long long value) {\n"
                             "    for (unsigned long long i = threadIdx.x; i < n; i += blockDim.x) x[i] = value;\n"
                             "}\n";
static const char bad_source[] = "int a;\n#error planted in the source\n";
static const char bad_ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry broken( }\n";

int main(void) {
    device d = device_open_with(NULL);
    norn_kernel kernel;
    norn_module none;
    uint64_t *memory, n = 64, value = 7;
    norn_status status = norn_module_load(d.rt, d.place, source, sizeof source - 1, NULL, &d.module);
    if (status == NORN_E_UNSUPPORTED) {
        printf("skipped: %s\n", norn_last_error());
        CHECK_OK(norn_close(d.rt));
        return SKIPPED;
    }
    CHECK_OK(status);
    CHECK_OK(norn_kernel_get(d.rt, d.module, "fill_u64", &kernel));
    norn_data x = device_alloc(&d, n * 8), host = device_pinned(&d, n * 8, &memory);
    const norn_argument arguments[3] = {norn_pointer(x, NORN_WRITE), norn_value(&n, sizeof n), norn_value(&value, sizeof value)};
    device_launch(&d, kernel, arguments, 3, NULL);
    CHECK_OK(norn_await(d.rt, device_copy(&d, x, host, n), FOREVER));
    for (uint64_t i = 0; i < n; ++i) CHECK_EQUAL(memory[i], value);

    CHECK_STATUS(norn_module_load(d.rt, d.place, bad_source, sizeof bad_source - 1, NULL, &none), NORN_E_DEVICE);
    CHECK_SAYS("planted in the source");
    CHECK_STATUS(norn_module_load(d.rt, d.place, bad_ptx, sizeof bad_ptx - 1, NULL, &none), NORN_E_DEVICE);
    CHECK_STATUS(norn_kernel_get(d.rt, d.module, "no_such_kernel", &kernel), NORN_E_INVALID);
    CHECK_SAYS("no_such_kernel");
    CHECK_OK(norn_data_unregister(d.rt, x));
    CHECK_OK(norn_data_unregister(d.rt, host));
    CHECK_OK(norn_close(d.rt));
    check_nothing_left();
    return 0;
}
