/* The stream of a task is of the device that its place names, and a host body has none; everything else is refused with the
 * name of the field.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/raw.h"

static int32_t nothing(norn_self *self, void *stream, void *arg) {
    (void)self;
    (void)stream;
    (void)arg;
    return 0;
}
static int32_t on_host(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    return 0;
}

int main(void) {
    norn_device_config config = NORN_DEVICE_CONFIG_INIT;
    config.select = NORN_DEVICE_ORDINAL;
    device d = device_open_with(&config);
    device_load_kernels(&d);
    raw_context();
    void *own = raw_stream();
    norn_task task = NORN_TASK_INIT;
    norn_token token;
    task.stream = own;
    task.run = on_host;
    CHECK_STATUS(norn_submit(d.rt, &task, &token), NORN_E_INVALID);
    CHECK_SAYS("task.stream");
    task.run = NULL;
    task.enqueue = nothing;
    CHECK_OK(norn_submit(d.rt, &task, &token));
    task.place = d.place;
    CHECK_OK(norn_submit(d.rt, &task, &token));
    /* The legacy default stream is one of every device. */
    task.stream = (void *)1;
    CHECK_OK(norn_submit(d.rt, &task, &token));
    task.stream = own;

    norn_place other;
    config.ordinal = 1;
    norn_status second = norn_device_open(d.rt, &config, &other);
    if (second != NORN_E_INVALID) {
        CHECK_OK(second);
        task.place = other;
        CHECK_STATUS(norn_submit(d.rt, &task, &token), NORN_E_INVALID);
        CHECK_SAYS("stream: it is of device 0, and place names device 1");
        CHECK_STATUS(norn_submit_many(d.rt, &task, 1, &token), NORN_E_INVALID);
        CHECK_SAYS("tasks[0]: stream");
        norn_data there = device_alloc(&(device){d.rt, other, {0}}, 64);
        norn_slice slice = norn_slice_of(there, NORN_U64, 8);
        uint64_t value = 1;
        norn_task how = NORN_TASK_INIT;
        how.stream = own;
        how.place = other;
        CHECK_STATUS(norn_fill(d.rt, &slice, &value, &how, &token), NORN_E_INVALID);
        CHECK_SAYS("stream: it is of device 0");
    }
    CHECK_OK(norn_drain(d.rt, FOREVER));
    raw_stream_end(own);
    raw_context_release();
    CHECK_OK(norn_close(d.rt));
    return 0;
}
