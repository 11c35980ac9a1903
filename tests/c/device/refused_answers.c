/* A driver that refuses to tell whether work has ended, or to record or wait: the token fails, but not before the work has
 * ended, and until then nothing that it uses is freed or used again. A driver that refuses every answer ends the device.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/raw.h"
#include "device/standin.h"

enum { count = 100, refused = 999 };

static void refuse(const char *symbol, int calls) {
    for (int nth = 1; nth <= calls; nth++) STANDIN(standin_fail_next)(symbol, nth, refused);
}
static void hold(int on) { STANDIN(standin_hold)(on); }

static void check_record(const device *d, norn_token token, const char *call) {
    norn_error_info record = NORN_ERROR_INFO_INIT;
    CHECK_OK(norn_error(d->rt, token, &record));
    CHECK_EQUAL(record.cause_status, NORN_E_DEVICE);
    CHECK_EQUAL(record.code, refused);
    CHECK_EQUAL(record.device, d->place.index);
    CHECK(strcmp(record.operation, call) == 0);
}

/* Runs for as long as the driver is held. */
static norn_token held_work(const device *d, norn_data x) {
    hold(1);
    return device_mix(d, device_kernel(d, "mix_u64"), x, count, 5);
}
/* The work goes on although `token` will have failed, so the token must not end. */
static void check_waits(const device *d, norn_token token) {
    CHECK_STATUS(norn_await(d->rt, token, 50 * MILLISECOND), NORN_E_TIMEOUT);
}
/* Work beside it neither stands behind it nor disturbs it. */
static void check_others_work(const device *d, norn_data y) {
    device_mix(d, device_kernel(d, "mix_u64"), y, count, 6);
    hold(0);
    CHECK_OK(norn_await(d->rt, device_mix(d, device_kernel(d, "mix_u64"), y, count, 7), FOREVER));
}

static void one_event_query(const device *d, norn_data x, norn_data y) {
    norn_token token = held_work(d, x);
    refuse("cuEventQuery", 1);
    check_waits(d, token);
    check_others_work(d, y);
    CHECK_STATUS(norn_await(d->rt, token, FOREVER), NORN_E_DEVICE);
    check_record(d, token, "cuEventQuery");
}

static void all_event_queries(const device *d, norn_data x, norn_data y) {
    norn_token token = held_work(d, x);
    refuse("cuEventQuery", 1000);
    check_waits(d, token);
    (void)y;
    hold(0);
    CHECK_STATUS(norn_await(d->rt, token, FOREVER), NORN_E_DEVICE);
}

/* Then the driver is told to wait. */
static void all_queries(const device *d, norn_data x, norn_data y) {
    norn_token token = held_work(d, x);
    (void)y;
    refuse("cuEventQuery", 1000);
    refuse("cuStreamQuery", 1000);
    norn_token behind = device_mix(d, device_kernel(d, "mix_u64"), x, count, 8);
    usleep(20000);
    hold(0);
    CHECK_STATUS(norn_await(d->rt, token, FOREVER), NORN_E_DEVICE);
    const norn_status ended = norn_await(d->rt, behind, FOREVER);
    CHECK(ended == NORN_E_PROPAGATED || ended == NORN_E_DEVICE);
}

static void no_record(const device *d, norn_data x, norn_data y) {
    refuse("cuEventRecord", 1);
    norn_token token = held_work(d, x);
    check_waits(d, token);
    check_others_work(d, y);
    CHECK_STATUS(norn_await(d->rt, token, FOREVER), NORN_E_DEVICE);
    check_record(d, token, "cuEventRecord");
}

static void no_event(const device *d, norn_data x, norn_data y) {
    refuse("cuEventCreate", 1);
    norn_token token = held_work(d, x);
    check_waits(d, token);
    check_others_work(d, y);
    CHECK_STATUS(norn_await(d->rt, token, FOREVER), NORN_E_DEVICE);
    check_record(d, token, "cuEventCreate");
}

/* What cannot wait is not queued, and ends after what it would have followed. */
static void no_wait(const device *d, norn_data x, norn_data y) {
    norn_token first = held_work(d, x), second = held_work(d, y), both;
    const uint64_t n = count, key = 1;
    const norn_argument arguments[3] = {norn_pointer(x, NORN_READ_WRITE), norn_value(&n, sizeof n), norn_value(&key, sizeof key)};
    norn_access access = norn_update(y);
    norn_task how = NORN_TASK_INIT;
    how.accesses = &access;
    how.access_count = 1;
    refuse("cuStreamWaitEvent", 1);
    both = device_launch(d, device_kernel(d, "mix_u64"), arguments, 3, &how);
    check_waits(d, both);
    hold(0);
    CHECK_STATUS(norn_await(d->rt, both, FOREVER), NORN_E_DEVICE);
    check_record(d, both, "cuStreamWaitEvent");
    int32_t done = 0;
    CHECK_OK(norn_test(d->rt, first, &done));
    CHECK(done);
    CHECK_OK(norn_test(d->rt, second, &done));
    CHECK(done);
}

/* The application's own work, which norn only watches. */
static void own_work(const device *d, norn_data x, norn_data y) {
    void *from, *to;
    CHECK_OK(norn_data_pointer(d->rt, x, &from, NULL));
    CHECK_OK(norn_data_pointer(d->rt, y, &to, NULL));
    raw_context();
    void *own = raw_stream();
    hold(1);
    raw_copy((uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, count * 8, own);
    norn_token token, cancelled;
    CHECK_OK(norn_stream_record(d->rt, d->place, own, &token));
    refuse("cuEventQuery", 2);
    check_waits(d, token);
    CHECK_OK(norn_stream_record(d->rt, d->place, own, &cancelled));
    (void)norn_cancel(d->rt, cancelled);
    hold(0);
    CHECK_STATUS(norn_await(d->rt, token, FOREVER), NORN_E_DEVICE);
    CHECK_OK(norn_drain(d->rt, FOREVER));
    raw_stream_end(own);
    raw_context_release();
}

typedef void (*fault_fn)(const device *d, norn_data x, norn_data y);

/* 1: the child found what it must, and nothing is left. */
static int passes(fault_fn fault, const char *name) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(50);
        device d = device_open();
        norn_data x = device_alloc(&d, count * 8), y = device_alloc(&d, count * 8);
        fault(&d, x, y);
        CHECK_OK(norn_data_unregister(d.rt, x));
        CHECK_OK(norn_data_unregister(d.rt, y));
        CHECK_OK(norn_close(d.rt));
        check_nothing_left();
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    if (status != 0) fprintf(stderr, "%s: wait status %d\n", name, status);
    return status == 0;
}

/* The driver answers nothing any more while a kernel runs: the device is given up, and its memory is kept. */
static void silence(void) {
    device d = device_open();
    norn_data x = device_alloc(&d, count * 8);
    uint64_t *memory;
    norn_data pinned = device_pinned(&d, 64, &memory);
    norn_token token = held_work(&d, x), later;
    for (int i = 0; i < 100; i++) {
        const norn_status ended = norn_await(d.rt, token, MILLISECOND);
        CHECK_STATUS(ended, NORN_E_TIMEOUT);
        if (STANDIN(standin_calls)("cuEventRecord") != 0) break;
    }
    refuse("cuEventQuery", 1000);
    refuse("cuStreamQuery", 1000);
    refuse("cuStreamSynchronize", 1000);
    CHECK_STATUS(norn_await(d.rt, token, FOREVER), NORN_E_DEVICE);
    check_record(&d, token, "cuStreamSynchronize");
    norn_device_info info = NORN_DEVICE_INFO_INIT;
    CHECK_OK(norn_device_get(d.rt, d.place, &info));
    CHECK_EQUAL(info.failed, 1);
    norn_slice slice = norn_slice_of(x, NORN_U64, count);
    const uint64_t zero = 0;
    CHECK_OK(norn_fill(d.rt, &slice, &zero, NULL, &later));
    CHECK_STATUS(norn_await(d.rt, later, FOREVER), NORN_E_DEVICE);
    CHECK_OK(norn_data_unregister(d.rt, x));
    CHECK_OK(norn_data_unregister(d.rt, pinned));
    CHECK_OK(norn_close(d.rt));
    CHECK(STANDIN(standin_live)("device-bytes") >= count * 8);
    CHECK(STANDIN(standin_live)("pinned-bytes") >= 64);
    CHECK(STANDIN(standin_live)("pending") > 0);
    CHECK_EQUAL(STANDIN(standin_violations)(NULL), 0);
    hold(0);
    _exit(0); /* without the driver's report of what is left, which is the point */
}

int main(void) {
    static const struct {
        fault_fn fault;
        const char *name;
    } faults[] = {{one_event_query, "one event query"}, {all_event_queries, "all event queries"}, {all_queries, "all queries"},
                  {no_record, "no record"},             {no_event, "no event"},                   {no_wait, "no wait"},
                  {own_work, "own work"}};
    standin_or_skip();
    STANDIN(standin_on_violation)(STANDIN_COUNT);
    int wrong = 0;
    for (size_t i = 0; i < COUNT_OF(faults); i++) wrong += !passes(faults[i].fault, faults[i].name);
    CHECK_EQUAL(wrong, 0);
    silence();
    return 1;
}
