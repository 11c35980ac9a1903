/* A copy up, kernels and a copy down follow each other through the data alone.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/device.h"

#define COUNT 1000

int main(void) {
    device d = device_open();
    norn_kernel mix = device_kernel(&d, "mix_u64");
    uint64_t *memory;
    norn_data host = device_pinned(&d, COUNT * 8, &memory);
    norn_data x = device_alloc(&d, COUNT * 8);
    for (uint64_t i = 0; i < COUNT; i++) memory[i] = i;
    device_copy(&d, host, x, COUNT);
    for (uint64_t key = 1; key <= 5; key++) device_mix(&d, mix, x, COUNT, key);
    CHECK_OK(norn_await(d.rt, device_copy(&d, x, host, COUNT), FOREVER));
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t expected = i;
        for (uint64_t key = 1; key <= 5; key++) expected = mixed(expected, i, key);
        CHECK(memory[i] == expected);
    }
    CHECK_OK(norn_data_unregister(d.rt, x));
    CHECK_OK(norn_data_unregister(d.rt, host));
    CHECK_OK(norn_close(d.rt));
    return 0;
}
