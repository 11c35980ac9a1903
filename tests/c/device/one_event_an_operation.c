/* Each operation records one event at most, and the events and streams of many operations are used again.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/standin.h"

enum { count = 64 };

int main(void) {
    standin_or_skip();
    device d = device_open();
    const int operations = (int)scaled(3000, 1000000);
    const norn_kernel mix = device_kernel(&d, "mix_u64");
    norn_data x[8];
    for (int i = 0; i < 8; ++i) x[i] = device_alloc(&d, count * 8);
    CHECK_OK(norn_drain(d.rt, FOREVER));
    const unsigned long long before = STANDIN(standin_calls)("cuEventRecord");
    for (int i = 0; i < operations; ++i) {
        device_mix(&d, mix, x[i % 8], count, (uint64_t)i);
        if (i % 512 == 0) CHECK_OK(norn_drain(d.rt, FOREVER));
    }
    CHECK_OK(norn_drain(d.rt, FOREVER));
    CHECK(STANDIN(standin_calls)("cuEventRecord") - before <= (unsigned long long)operations);
    CHECK(STANDIN(standin_live)("events") <= 1024);
    CHECK(STANDIN(standin_live)("streams") <= 64);
    for (int i = 0; i < 8; ++i) CHECK_OK(norn_data_unregister(d.rt, x[i]));
    CHECK_OK(norn_close(d.rt));
    check_nothing_left();
    return 0;
}
