/* A declared token whose predecessor has failed still waits for its task, and then fails as propagated, or runs if that is RUN_ALWAYS. */
#include "check.h"

static atomic_int dropped;

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token bad = submit_run(rt, body_fail, NULL);
    CHECK_STATUS(norn_await(rt, bad, FOREVER), NORN_E_TASK_FAILED);
    norn_token unbound = declared(rt, "unbound");
    CHECK_OK(norn_edge(rt, bad, unbound));
    CHECK_STATUS(norn_await(rt, unbound, 0), NORN_E_TIMEOUT);
    norn_task task = task_of(body_must_not_run, &dropped);
    task.drop = drop_count;
    task.as = unbound;
    CHECK_OK(norn_submit(rt, &task, NULL));
    CHECK_STATUS(norn_await(rt, unbound, FOREVER), NORN_E_PROPAGATED);
    CHECK(record_of(rt, unbound).cause.id == bad.id);
    CHECK_EQUAL(dropped, 1);

    static atomic_int cleaned;
    norn_token always = declared(rt, "always");
    CHECK_OK(norn_edge(rt, bad, always));
    task = task_of(body_count, &cleaned);
    task.flags = NORN_RUN_ALWAYS;
    task.as = always;
    CHECK_OK(norn_submit(rt, &task, NULL));
    CHECK_OK(norn_await(rt, always, FOREVER));
    CHECK_EQUAL(cleaned, 1);
    CHECK_OK(norn_close(rt));
    return 0;
}
