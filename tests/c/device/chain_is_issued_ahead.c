/* A chain of operations on the device is queued before its first one has run: on one stream, without a wait, and with two
 * calls of the driver an operation.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/standin.h"

enum { count = 64, operations = 100 };

static unsigned long long calls(const char *symbol) { return STANDIN(standin_calls)(symbol); }

int main(void) {
    standin_or_skip();
    device d = device_open();
    const norn_kernel mix = device_kernel(&d, "mix_u64");
    const norn_data x = device_alloc(&d, count * 8);
    uint64_t *memory, expected[count];
    const norn_data host = device_pinned(&d, count * 8, &memory);
    for (uint64_t i = 0; i < count; i++) memory[i] = expected[i] = i;
    CHECK_OK(norn_await(d.rt, device_copy(&d, host, x, count), FOREVER));
    const unsigned long long launches = calls("cuLaunchKernel"), records = calls("cuEventRecord");
    norn_token last = {0};
    STANDIN(standin_hold)(1);
    for (uint64_t key = 0; key < operations; key++) {
        last = device_mix(&d, mix, x, count, key);
        for (uint64_t i = 0; i < count; i++) expected[i] = mixed(expected[i], i, key);
    }
    for (int i = 0; i < 20000 && calls("cuEventRecord") - records < operations; i++) {
        CHECK_OK(norn_progress(d.rt)); /* without workers nobody else makes passes */
        usleep(1000);
    }
    CHECK_EQUAL(calls("cuLaunchKernel") - launches, operations);
    CHECK_EQUAL(calls("cuEventRecord") - records, operations);
    CHECK_EQUAL(calls("cuStreamWaitEvent"), 0);
    STANDIN(standin_hold)(0);
    CHECK_OK(norn_await(d.rt, last, FOREVER));
    CHECK_OK(norn_await(d.rt, device_copy(&d, x, host, count), FOREVER));
    for (uint64_t i = 0; i < count; i++) CHECK(memory[i] == expected[i]);
    CHECK_OK(norn_data_unregister(d.rt, x));
    CHECK_OK(norn_data_unregister(d.rt, host));
    CHECK_OK(norn_close(d.rt));
    check_nothing_left();
    return 0;
}
