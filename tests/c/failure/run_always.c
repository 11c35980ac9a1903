/* RUN_ALWAYS tasks run behind failed and cancelled predecessors, and what follows them runs too. */
#include "check.h"

static atomic_int cleaned, followed;

static norn_token cleanup_after(norn_runtime *rt, norn_token before) {
    norn_task task = task_of(body_count, &cleaned);
    task.flags = NORN_RUN_ALWAYS;
    task.after = &before;
    task.after_count = 1;
    return submit(rt, &task);
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token gate = promised(rt, "gate");
    norn_token fine = submit_after(rt, body_nothing, NULL, gate);
    norn_token failed = submit_after(rt, body_fail, NULL, gate);
    norn_token propagated = submit_after(rt, body_must_not_run, NULL, failed);
    norn_token cancelled = submit_after(rt, body_must_not_run, NULL, gate);
    norn_token broken = promised(rt, "broken");
    norn_token before[5] = {fine, failed, propagated, cancelled, broken}, cleanups[5];
    for (int i = 0; i < 5; i++) cleanups[i] = cleanup_after(rt, before[i]);
    norn_token next = submit_after(rt, body_count, &followed, cleanups[1]);

    /* It still waits for all its predecessors, also when one has failed already. */
    norn_token two[2] = {cancelled, fine};
    norn_task task = task_of(body_count, &cleaned);
    task.flags = NORN_RUN_ALWAYS;
    task.after = two;
    task.after_count = 2;
    norn_token waits = submit(rt, &task);
    CHECK_OK(norn_cancel(rt, cancelled));
    CHECK_STATUS(norn_await(rt, waits, 20 * MILLISECOND), NORN_E_TIMEOUT);

    CHECK_OK(norn_fail(rt, broken, 4, "no"));
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_await_all(rt, cleanups, 5, FOREVER));
    CHECK_OK(norn_await(rt, next, FOREVER));
    CHECK_OK(norn_await(rt, waits, FOREVER));
    CHECK_EQUAL(cleaned, 6);
    CHECK_EQUAL(followed, 1);

    /* Submitted behind a failure long past; and its own failure is its own. */
    norn_token late = cleanup_after(rt, propagated);
    CHECK_OK(norn_await(rt, late, FOREVER));
    task = task_of(body_fail, NULL);
    task.flags = NORN_RUN_ALWAYS;
    task.after = &propagated;
    task.after_count = 1;
    norn_token own = submit(rt, &task);
    CHECK_STATUS(norn_await(rt, own, FOREVER), NORN_E_TASK_FAILED);
    CHECK(record_of(rt, own).cause.id == own.id);
    norn_close(rt);
    return 0;
}
