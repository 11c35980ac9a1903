/* Closing with NORN_CANCEL cancels what has not started, lets running bodies end and runs the cleanup tasks. */
#include "check.h"

static atomic_int running, ran_to_end, dropped, cleaned;
static int32_t body(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    atomic_store(&running, 1);
    sleep_ms(50);
    atomic_fetch_add(&ran_to_end, 1);
    return 0;
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token gate = promised(rt, "gate");
    const int starts_now = !runs_inside_calls_only(rt);
    norn_token first = {0};
    if (starts_now) {
        first = submit_run(rt, body, NULL);
        WAIT_FOR(running);
    }
    norn_task task = task_of(body_must_not_run, &dropped);
    task.drop = drop_count;
    task.after = &gate;
    task.after_count = 1;
    norn_token waiting = {0};
    for (int i = 0; i < 100; i++) waiting = submit(rt, &task);
    task = task_of(body_count, &cleaned);
    task.flags = NORN_RUN_ALWAYS;
    task.after = &waiting;
    task.after_count = 1;
    submit(rt, &task);
    norn_close_with(rt, NORN_CANCEL, FOREVER);
    CHECK_EQUAL(ran_to_end, starts_now);
    CHECK_EQUAL(dropped, 100);
    CHECK_EQUAL(cleaned, 1);
    CHECK_STATUS(norn_progress(rt), NORN_E_INVALID);
    (void)first;
    return 0;
}
