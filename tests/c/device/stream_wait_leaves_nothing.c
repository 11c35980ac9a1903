/* A norn_stream_wait that returns an error leaves nothing behind: no operation that a drain would wait for, and nothing
 * that uses the application's stream, which it may destroy.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/raw.h"

static device d;
static void *own;
static norn_token never, filled;

static uint64_t live(void) {
    norn_runtime_stats stats = NORN_RUNTIME_STATS_INIT;
    CHECK_OK(norn_stats(d.rt, &stats));
    return stats.live;
}

static norn_token fill_after(norn_data x, const norn_token *after) {
    norn_slice slice = norn_slice_of(x, NORN_U64, 8);
    norn_task how = NORN_TASK_INIT;
    uint64_t value = 7;
    norn_token token;
    how.after = after;
    how.after_count = after != NULL;
    CHECK_OK(norn_fill(d.rt, &slice, &value, &how, &token));
    return token;
}

static void no_operation_is_left(void) {
    uint64_t before = live();
    for (int i = 0; i < 1000; i++) CHECK_STATUS(norn_stream_wait(d.rt, never, d.place, own, 0), NORN_E_TIMEOUT);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(norn_stream_wait(d.rt, never, d.place, own, MILLISECOND), NORN_E_TIMEOUT);
        CHECK_STATUS(norn_stream_wait(d.rt, filled, d.place, own, MILLISECOND), NORN_E_TIMEOUT);
    }
    CHECK_EQUAL(live(), before);
}

static int32_t waits_in_its_body(norn_self *self, void *stream, void *arg) {
    (void)self;
    (void)stream;
    (void)arg;
    uint64_t before = live();
    CHECK_STATUS(norn_stream_wait(d.rt, filled, d.place, own, FOREVER), NORN_E_THREAD);
    CHECK_STATUS(norn_stream_wait(d.rt, filled, d.place, own, 0), NORN_E_THREAD);
    CHECK_EQUAL(live(), before);
    return 0;
}

static void refused_in_an_enqueue_body(void) {
    norn_task task = NORN_TASK_INIT;
    norn_token token;
    task.enqueue = waits_in_its_body;
    task.place = d.place;
    CHECK_OK(norn_submit(d.rt, &task, &token));
    CHECK_OK(norn_await(d.rt, token, FOREVER));
}

/* What is on the device needs no time of the host's, so asking again and again without a limit comes to an end. */
static void polling_ends(norn_data x) {
    norn_token token = fill_after(x, NULL);
    norn_status status;
    do {
        status = norn_stream_wait(d.rt, token, d.place, own, 0);
    } while (status == NORN_E_TIMEOUT);
    CHECK_OK(status);
}

int main(void) {
    d = device_open();
    norn_data x = device_alloc(&d, 64), y = device_alloc(&d, 64);
    raw_context();
    own = raw_stream();
    CHECK_OK(norn_promise(d.rt, "never", &never));
    filled = fill_after(x, &never);
    no_operation_is_left();
    refused_in_an_enqueue_body();
    polling_ends(y);
    raw_stream_end(own);
    CHECK_OK(norn_fulfill(d.rt, never));
    CHECK_OK(norn_await(d.rt, filled, FOREVER));
    CHECK_OK(norn_drain(d.rt, FOREVER));
    raw_context_release();
    CHECK_OK(norn_close(d.rt));
    return 0;
}
