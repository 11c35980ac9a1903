/* A close that cancels does not wait for operations that have arrived and that no pass has seen yet. What they hold goes back all
 * the same, and the next runtime does not meet them.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/standin.h"

enum { ROUNDS = 20, RECORDS = 10 };

int main(void) {
    for (int round = 0; round < ROUNDS; round++) {
        device d = device_open();
        norn_data x = device_alloc(&d, 64);
        norn_kernel mix = device_kernel(&d, "mix_u64");
        CHECK_OK(norn_await(d.rt, device_mix(&d, mix, x, 8, 1), FOREVER));
        norn_token token;
        /* With no worker, nothing is done between two calls that do not wait. */
        for (int i = 0; i < RECORDS; i++) {
            CHECK_OK(norn_stream_record(d.rt, d.place, NULL, &token));
            device_mix(&d, mix, x, 8, 2);
        }
        norn_status closed = norn_close_with(d.rt, NORN_CANCEL, FOREVER);
        CHECK(closed == NORN_OK || closed == NORN_E_CANCELLED);
        check_nothing_left();
    }
    return 0;
}
