/* Who waits for work that takes long asks the driver a few times at first and then sleeps: the calls of the driver do not grow
 * with the time (D1).
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/standin.h"

enum { COUNT = 64 };

int main(void) {
    standin_or_skip();
    device d = device_open();
    norn_kernel mix = device_kernel(&d, "mix_u64");
    norn_data x = device_alloc(&d, COUNT * 8);
    CHECK_OK(norn_await(d.rt, device_mix(&d, mix, x, COUNT, 1), FOREVER));
    STANDIN(standin_hold)(1);
    const norn_token held = device_mix(&d, mix, x, COUNT, 2);
    /* It looks without a pause for 50 us. */
    CHECK_STATUS(norn_await(d.rt, held, 300 * MILLISECOND), NORN_E_TIMEOUT);
    const unsigned long long before = STANDIN(standin_calls)(NULL);
    CHECK_STATUS(norn_await(d.rt, held, 1000 * MILLISECOND), NORN_E_TIMEOUT);
    const unsigned long long asked = STANDIN(standin_calls)(NULL) - before;
    STANDIN(standin_hold)(0);
    CHECK_OK(norn_await(d.rt, held, FOREVER));
    printf("%llu calls of the driver in a second\n", asked);
    /* It looks after the device every 20 ms, and an await for 50 us at its start. */
    CHECK(asked < 2000);
    CHECK_OK(norn_data_unregister(d.rt, x));
    CHECK_OK(norn_close(d.rt));
    check_nothing_left();
    return 0;
}
