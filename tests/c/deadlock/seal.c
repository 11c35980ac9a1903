/* After norn_seal what nobody can complete is a deadlock, reported by name to every wait. */
#include "check.h"

static norn_runtime *rt;
static norn_token waits;
static atomic_int dropped;
static void *wait_now(void *arg) {
    (void)arg;
    CHECK_STATUS(norn_await(rt, waits, FOREVER), NORN_E_DEADLOCK);
    CHECK_SAYS("orphan");
    return NULL;
}

int main(void) {
    rt = open_plain();
    norn_token orphan = declared(rt, "orphan");
    norn_task task = task_of(body_must_not_run, &dropped);
    task.name = "consumer";
    task.drop = drop_count;
    task.after = &orphan;
    task.after_count = 1;
    waits = submit(rt, &task);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, wait_now, NULL) == 0);
    CHECK_STATUS(norn_await(rt, waits, 20 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_OK(norn_seal(rt));
    CHECK(pthread_join(thread, NULL) == 0); /* the wait that was under way ends too */

    CHECK_STATUS(norn_await(rt, waits, FOREVER), NORN_E_DEADLOCK);
    CHECK_SAYS("orphan");
    CHECK_STATUS(norn_await(rt, orphan, FOREVER), NORN_E_DEADLOCK);
    CHECK_STATUS(norn_drain(rt, FOREVER), NORN_E_DEADLOCK);
    CHECK_SAYS("orphan");
    CHECK(!is_done(rt, waits)); /* the report changes nothing */
    CHECK_EQUAL(dropped, 0);

    norn_token out = {3};
    task.after_count = 0;
    CHECK_STATUS(norn_submit(rt, &task, &out), NORN_E_CLOSED);
    CHECK_EQUAL(out.id, 3);
    CHECK_OK(norn_seal(rt)); /* again is fine */

    CHECK_OK(norn_cancel(rt, orphan)); /* the way out */
    CHECK_STATUS(norn_await(rt, waits, FOREVER), NORN_E_PROPAGATED);
    CHECK_EQUAL(dropped, 1);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
