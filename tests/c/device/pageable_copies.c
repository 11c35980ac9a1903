/* A copy to pageable memory makes the driver's caller wait; no other work of norn's waits with it: not the thread that makes
 * passes, nor other operations, nor an await with a limit.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/standin.h"

#include <stdlib.h>

enum { count = 1 << 17 };

static uint64_t up_memory[count], down_memory[count];

static int one_at_a_time(void) {
    const char *mode = getenv("NORN_MODE");
    return mode != NULL && strcmp(mode, "async") != 0;
}
static int32_t nothing(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    return 0;
}

int main(void) {
    device d = device_open();
    const norn_kernel mix = device_kernel(&d, "mix_u64");
    const norn_data x = device_alloc(&d, sizeof up_memory), y = device_alloc(&d, 64 * 8);
    const norn_data up = device_host(&d, up_memory, sizeof up_memory), down = device_host(&d, down_memory, sizeof down_memory);
    for (uint64_t round = 0; round < 5; round++) {
        for (uint64_t i = 0; i < count; i++) up_memory[i] = i + round;
        device_copy(&d, up, x, count);
        device_mix(&d, mix, x, count, round);
        CHECK_OK(norn_await(d.rt, device_copy(&d, x, down, count), FOREVER));
        for (uint64_t i = 0; i < count; i++) CHECK(down_memory[i] == mixed(i + round, i, round));
    }
    if (standin_is_here() && !one_at_a_time()) {
        STANDIN(standin_hold)(1);
        const norn_token copied = device_copy(&d, x, down, count);
        for (int i = 0; i < 3; i++) CHECK_STATUS(norn_await(d.rt, copied, 10 * MILLISECOND), NORN_E_TIMEOUT);
        CHECK_OK(norn_progress(d.rt));
        /* Operations are issued, and host tasks run. */
        const unsigned long long launched = STANDIN(standin_calls)("cuLaunchKernel");
        const norn_token beside = device_mix(&d, mix, y, 64, 3);
        for (int i = 0; i < 2000 && STANDIN(standin_calls)("cuLaunchKernel") == launched; i++) {
            CHECK_OK(norn_progress(d.rt));
            usleep(1000);
        }
        CHECK_EQUAL(STANDIN(standin_calls)("cuLaunchKernel"), launched + 1);
        norn_task task = NORN_TASK_INIT;
        norn_token on_host;
        task.run = nothing;
        CHECK_OK(norn_submit(d.rt, &task, &on_host));
        CHECK_OK(norn_await(d.rt, on_host, FOREVER));
        STANDIN(standin_hold)(0);
        CHECK_OK(norn_await(d.rt, copied, FOREVER));
        CHECK_OK(norn_await(d.rt, beside, FOREVER));
        /* One that is refused fails as others do, and one that is under way at the close is waited for. */
        STANDIN(standin_fail_next)("cuMemcpyAsync", 1, 1);
        CHECK_STATUS(norn_await(d.rt, device_copy(&d, x, down, count), FOREVER), NORN_E_DEVICE);
    }
    device_copy(&d, up, x, count);
    CHECK_OK(norn_close(d.rt));
    check_nothing_left();
    return 0;
}
