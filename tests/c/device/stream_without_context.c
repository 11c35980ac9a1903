/* A stream of the application's may be handed over by a thread that has no current context.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/raw.h"

static int32_t queue_nothing(norn_self *self, void *stream, void *expected) {
    (void)self;
    return stream == expected ? 0 : 1;
}

int main(void) {
    device d = device_open();
    raw_context();
    void *own = raw_stream();
    RAW("cuCtxSetCurrent", (void *), (NULL));
    norn_task task = NORN_TASK_INIT, how = NORN_TASK_INIT;
    norn_token token;
    norn_data x = device_alloc(&d, 64);
    norn_slice all = norn_slice_of(x, NORN_U64, 8);
    uint64_t one = 1;
    /* The device is found by the stream. */
    task.enqueue = queue_nothing;
    task.arg = own;
    task.stream = own;
    CHECK_OK(norn_submit(d.rt, &task, &token));
    CHECK_OK(norn_await(d.rt, token, FOREVER));
    how.stream = own;
    CHECK_OK(norn_fill(d.rt, &all, &one, &how, &token));
    CHECK_OK(norn_await(d.rt, token, FOREVER));
    CHECK_OK(norn_stream_record(d.rt, d.place, own, &token));
    CHECK_OK(norn_stream_wait(d.rt, token, d.place, own, FOREVER));
    CHECK_OK(norn_await(d.rt, token, FOREVER));
    void *current;
    RAW("cuCtxGetCurrent", (void **), (&current));
    CHECK(current == NULL);
    raw_context();
    raw_stream_end(own);
    raw_context_release();
    raw_context_release();
    CHECK_OK(norn_close(d.rt));
    return 0;
}
