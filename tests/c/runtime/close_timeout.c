/* A close that runs out of time leaves the runtime open, closed to new submissions, and can be repeated. */
#include "check.h"

static atomic_int running, release, ran;
static int32_t body(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    atomic_store(&running, 1);
    WAIT_FOR(release);
    return 0;
}

int main(void) {
    norn_runtime *rt = open_workers(1);
    norn_token first = submit_run(rt, body, NULL);
    norn_token next = submit_after(rt, body_count, &ran, first);
    WAIT_FOR(running);
    CHECK_STATUS(norn_close_with(rt, NORN_DRAIN, 0), NORN_E_TIMEOUT);
    CHECK_STATUS(norn_close_with(rt, NORN_DRAIN, 50 * MILLISECOND), NORN_E_TIMEOUT);
    norn_token out = {9};
    norn_task task = task_of(body_must_not_run, NULL);
    CHECK_STATUS(norn_submit(rt, &task, &out), NORN_E_CLOSED);
    CHECK_STATUS(norn_declare(rt, "late", &out), NORN_E_CLOSED);
    CHECK_STATUS(norn_promise(rt, "late", &out), NORN_E_CLOSED);
    CHECK_EQUAL(out.id, 9);
    CHECK(!is_done(rt, first));
    atomic_store(&release, 1);
    CHECK_OK(norn_await(rt, next, FOREVER));
    CHECK_OK(norn_close_with(rt, NORN_DRAIN, 20 * SECOND));
    CHECK_EQUAL(ran, 1);
    CHECK_STATUS(norn_close(rt), NORN_E_INVALID);
    return 0;
}
