/* Memory of a datum that a kernel uses goes only after it, whatever is destroyed first (P1, P5).
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/device.h"

#define COUNT 1024

int main(void) {
    device d = device_open();
    norn_kernel mix = device_kernel(&d, "mix_u64"), spin = device_kernel(&d, "spin_ns");
    for (int round = 0; round < 10; round++) {
        norn_data x = device_alloc(&d, COUNT * 8);
        device_spin(&d, spin, 5 * MILLISECOND, x, NORN_READ_WRITE);
        norn_token last = device_mix(&d, mix, x, COUNT, 1);
        CHECK_OK(norn_data_unregister(d.rt, x));
        int32_t done;
        CHECK_OK(norn_test(d.rt, last, &done));
        CHECK(done == 1);
        /* The same memory again, most likely. */
        norn_data y = device_alloc(&d, COUNT * 8);
        device_mix(&d, mix, y, COUNT, 2);
    }
    /* A close does the same for what is left. */
    norn_data z = device_alloc(&d, COUNT * 8);
    device_spin(&d, spin, 5 * MILLISECOND, z, NORN_READ_WRITE);
    device_mix(&d, mix, z, COUNT, 3);
    CHECK_OK(norn_close(d.rt));
    return 0;
}
