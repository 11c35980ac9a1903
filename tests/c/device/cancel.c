/* Cancelling and failing an operation whose predecessor is on the device: what comes behind it still comes after that.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/device.h"

#define COUNT 64

static int32_t fails(norn_self *self, void *arg) {
    (void)arg;
    return norn_self_fail(self, 3, "as asked");
}
static int32_t looks(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    return 0;
}

int main(void) {
    device d = device_open();
    norn_kernel mix = device_kernel(&d, "mix_u64"), spin = device_kernel(&d, "spin_ns");
    uint64_t *memory;
    norn_data host = device_pinned(&d, COUNT * 8, &memory), x = device_alloc(&d, COUNT * 8);
    for (int round = 0; round < 30; round++) {
        for (uint64_t i = 0; i < COUNT; i++) memory[i] = i;
        norn_token up = device_copy(&d, host, x, COUNT);
        device_spin(&d, spin, MILLISECOND, x, NORN_READ_WRITE);
        device_mix(&d, mix, x, COUNT, 1);
        norn_token maybe = device_mix(&d, mix, x, COUNT, 2);
        if (round % 3 == 1) sched_yield();
        if (round % 3 == 2) usleep(300);
        norn_status cancelled = norn_cancel(d.rt, maybe);
        CHECK(cancelled == NORN_OK || cancelled == NORN_E_TOO_LATE);
        if (cancelled == NORN_OK) {
            CHECK_STATUS(norn_await(d.rt, maybe, FOREVER), NORN_E_CANCELLED);
            /* A failed datum is well again when it is overwritten, which must come after the first kernel. */
        }
        CHECK_OK(norn_await(d.rt, up, FOREVER)); /* it reads what is cleared now */
        for (uint64_t i = 0; i < COUNT; i++) memory[i] = 0;
        uint64_t nine = 9;
        norn_slice whole = norn_slice_of(x, NORN_U64, COUNT);
        CHECK_OK(norn_fill(d.rt, &whole, &nine, NULL, NULL));
        CHECK_OK(norn_await(d.rt, device_copy(&d, x, host, COUNT), FOREVER));
        for (uint64_t i = 0; i < COUNT; i++) CHECK(memory[i] == 9);
    }
    /* Doomed by a host task while what it follows on the device is under way. */
    for (int round = 0; round < 30; round++) {
        norn_task bad = NORN_TASK_INIT, good = NORN_TASK_INIT;
        norn_token failed, behind, last;
        bad.run = fails;
        device_spin(&d, spin, MILLISECOND, x, NORN_READ_WRITE);
        device_mix(&d, mix, x, COUNT, 1);
        CHECK_OK(norn_submit(d.rt, &bad, &failed));
        uint64_t key = 2, count = COUNT, one = 1;
        norn_argument arguments[3] = {norn_pointer(x, NORN_READ_WRITE), norn_value(&count, 8), norn_value(&key, 8)};
        norn_task how = NORN_TASK_INIT;
        how.after = &failed;
        how.after_count = 1;
        behind = device_launch(&d, mix, arguments, 3, &how);
        norn_slice whole = norn_slice_of(x, NORN_U64, COUNT);
        CHECK_OK(norn_fill(d.rt, &whole, &one, NULL, NULL));
        norn_access access = norn_read(x);
        good.run = looks;
        good.accesses = &access;
        good.access_count = 1;
        CHECK_OK(norn_submit(d.rt, &good, &last));
        CHECK_OK(norn_await(d.rt, last, FOREVER));
        CHECK_STATUS(norn_await(d.rt, behind, FOREVER), NORN_E_PROPAGATED);
        CHECK_OK(norn_await(d.rt, device_copy(&d, x, host, COUNT), FOREVER));
        for (uint64_t i = 0; i < COUNT; i++) CHECK(memory[i] == 1);
    }
    /* A close that cancels lets what is on the device end. */
    for (int i = 0; i < 50; i++) {
        device_spin(&d, spin, 100000, x, NORN_READ_WRITE);
        device_mix(&d, mix, x, COUNT, 3);
    }
    CHECK_OK(norn_close_with(d.rt, NORN_CANCEL, FOREVER));
    return 0;
}
