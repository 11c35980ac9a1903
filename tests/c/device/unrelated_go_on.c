/* A kernel that waits for another operation's result holds up nobody: unrelated work is never behind it on a stream (M5).
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/device.h"

int main(void) {
    norn_device_config config = NORN_DEVICE_CONFIG_INIT;
    device d;
    config.streams = 2;
    d = device_open_with(&config);
    const char *mode = getenv("NORN_MODE");
    if (mode != NULL && strcmp(mode, "async") != 0) {
        printf("skipped: one operation at a time cannot wait for another\n");
        CHECK_OK(norn_close(d.rt));
        return SKIPPED;
    }
    device_load_kernels(&d);
    norn_kernel until = device_kernel(&d, "spin_until_u32");
    for (uint32_t round = 1; round <= 10; round++) {
        norn_data flag = device_alloc(&d, 4), other = device_alloc(&d, 4);
        uint32_t zero = 0;
        norn_slice whole = norn_slice_of(flag, NORN_U32, 1), apart = norn_slice_of(other, NORN_U32, 1);
        norn_token cleared, waits, set;
        CHECK_OK(norn_fill(d.rt, &whole, &zero, NULL, &cleared));
        CHECK_OK(norn_await(d.rt, cleared, 20 * SECOND));
        /* Neither names an access to the flag, so norn orders them by nothing. */
        norn_argument arguments[2] = {norn_pointer(flag, 0), norn_value(&round, sizeof round)};
        waits = device_launch(&d, until, arguments, 2, NULL);
        void *address;
        CHECK_OK(norn_data_pointer(d.rt, flag, &address, NULL));
        norn_slice raw = norn_slice_at(address, NORN_U32, 1);
        raw.place = d.place;
        CHECK_OK(norn_fill(d.rt, &apart, &zero, NULL, NULL));
        CHECK_OK(norn_fill(d.rt, &raw, &round, NULL, &set));
        CHECK_OK(norn_await(d.rt, set, 20 * SECOND));
        CHECK_OK(norn_await(d.rt, waits, 20 * SECOND));
        CHECK_OK(norn_data_unregister(d.rt, flag));
        CHECK_OK(norn_data_unregister(d.rt, other));
    }
    CHECK_OK(norn_close(d.rt));
    return 0;
}
