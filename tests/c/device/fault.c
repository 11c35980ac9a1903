/* A kernel that touches what it must not ends the device: everything on it fails with the record of that, host tasks go on,
 * and the runtime closes.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/device.h"

#define COUNT 64

static int32_t nothing(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    return 0;
}

int main(void) {
    device d = device_open();
    norn_kernel mix = device_kernel(&d, "mix_u64"), illegal = device_kernel(&d, "illegal_write");
    norn_data x = device_alloc(&d, COUNT * 8), y = device_alloc(&d, COUNT * 8);
    norn_access access = norn_update(x);
    norn_task how = NORN_TASK_INIT;
    how.accesses = &access;
    how.access_count = 1;
    norn_token before = device_mix(&d, mix, x, COUNT, 1);
    norn_token bad = device_launch(&d, illegal, NULL, 0, &how);
    norn_token behind = device_mix(&d, mix, x, COUNT, 2), after_all;
    for (int i = 0; i < 20; i++) behind = device_mix(&d, mix, x, COUNT, 2);
    norn_await(d.rt, before, FOREVER);
    norn_status failed = norn_await(d.rt, bad, FOREVER);
    CHECK(failed == NORN_E_DEVICE || failed == NORN_E_PROPAGATED);
    CHECK_STATUS(norn_await(d.rt, behind, FOREVER), NORN_E_PROPAGATED);
    norn_error_info record = NORN_ERROR_INFO_INIT;
    CHECK_OK(norn_error(d.rt, behind, &record));
    CHECK(record.cause_status == NORN_E_DEVICE && record.device == d.place.index);
    CHECK(strstr(record.text, "ILLEGAL_ADDRESS") != NULL);
    /* What comes later fails too, on other data as well. */
    norn_token late = device_mix(&d, mix, y, COUNT, 3);
    CHECK_STATUS(norn_await(d.rt, late, FOREVER), NORN_E_DEVICE);
    norn_device_info info = NORN_DEVICE_INFO_INIT;
    CHECK_OK(norn_device_get(d.rt, d.place, &info));
    CHECK(info.failed == 1);
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data none;
    desc.bytes = 8;
    desc.kind = NORN_MEMORY_DEVICE;
    desc.place = d.place;
    CHECK_STATUS(norn_data_alloc(d.rt, &desc, &none), NORN_E_DEVICE);
    norn_task task = NORN_TASK_INIT;
    task.run = nothing;
    CHECK_OK(norn_submit(d.rt, &task, &after_all));
    CHECK_OK(norn_await(d.rt, after_all, FOREVER));
    CHECK_OK(norn_close(d.rt));
    return 0;
}
