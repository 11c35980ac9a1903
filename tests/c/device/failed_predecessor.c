/* Device work whose predecessor failed or was cancelled does not run and fails as propagated, on the way to the device and back.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/standin.h"

enum { count = 32 };

int main(void) {
    device d = device_open();
    const norn_kernel mix = device_kernel(&d, "mix_u64");
    uint64_t *memory;
    int code = 41;
    norn_data x = device_alloc(&d, count * 8), host = device_pinned(&d, count * 8, &memory);
    for (uint64_t i = 0; i < count; ++i) memory[i] = i;
    CHECK_OK(norn_await(d.rt, device_copy(&d, host, x, count), FOREVER));

    /* A host task fails; a kernel, a copy and a host task after it. */
    norn_token gate = promised(d.rt, "gate");
    norn_token failing = submit_on_after(d.rt, body_fail, &code, norn_update(host), gate);
    norn_token up = device_copy(&d, host, x, count);
    norn_token kernel = device_mix(&d, mix, x, count, 1);
    norn_token down = device_copy(&d, x, host, count);
    norn_token after = submit_on(d.rt, body_must_not_run, NULL, norn_read(host));
    CHECK_OK(norn_fulfill(d.rt, gate));
    CHECK_STATUS(norn_await(d.rt, failing, FOREVER), NORN_E_TASK_FAILED);
    CHECK_STATUS(norn_await(d.rt, up, FOREVER), NORN_E_PROPAGATED);
    CHECK_STATUS(norn_await(d.rt, kernel, FOREVER), NORN_E_PROPAGATED);
    CHECK_STATUS(norn_await(d.rt, down, FOREVER), NORN_E_PROPAGATED);
    CHECK_STATUS(norn_await(d.rt, after, FOREVER), NORN_E_PROPAGATED);
    CHECK_EQUAL(record_of(d.rt, after).code, 41);

    /* A write ends it: both data are whole again. */
    const uint64_t one = 1;
    norn_slice all = norn_slice_of(x, NORN_U64, count);
    CHECK_OK(norn_fill(d.rt, &all, &one, NULL, NULL));
    CHECK_OK(norn_await(d.rt, device_copy(&d, x, host, count), FOREVER));
    for (int i = 0; i < count; ++i) CHECK_EQUAL(memory[i], 1);

    /* Cancelled before it was issued. */
    norn_token second = promised(d.rt, "second gate");
    norn_task how = NORN_TASK_INIT;
    how.after = &second;
    how.after_count = 1;
    const uint64_t n = count, key = 3;
    const norn_argument arguments[3] = {norn_pointer(x, NORN_READ_WRITE), norn_value(&n, sizeof n), norn_value(&key, sizeof key)};
    norn_token cancelled = device_launch(&d, mix, arguments, 3, &how);
    CHECK_OK(norn_cancel(d.rt, cancelled));
    CHECK_OK(norn_fulfill(d.rt, second));
    CHECK_STATUS(norn_await(d.rt, cancelled, FOREVER), NORN_E_CANCELLED);
    CHECK_OK(norn_data_unregister(d.rt, x));
    CHECK_OK(norn_data_unregister(d.rt, host));
    (void)norn_close(d.rt); /* it may tell the first failure */
    check_nothing_left();
    return 0;
}
