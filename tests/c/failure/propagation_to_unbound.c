/* A declared token whose predecessor has failed still waits for its task, and then fails as propagated. */
#include "check.h"

static atomic_int dropped;

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token bad = submit_run(rt, body_fail, NULL);
    CHECK_STATUS(norn_await(rt, bad, FOREVER), NORN_E_TASK_FAILED);
    norn_token unbound = declared(rt, "unbound");
    CHECK_OK(norn_edge(rt, bad, unbound));
    norn_task task = task_of(body_must_not_run, &dropped);
    task.drop = drop_count;
    task.as = unbound;
    /* Whether the token shows failed before or after it is bound, binding it takes the task and drops it once,
       or refuses it and takes nothing. */
    norn_status status = norn_submit(rt, &task, NULL);
    CHECK(status == NORN_OK || status == NORN_E_STATE);
    CHECK_STATUS(norn_await(rt, unbound, FOREVER), NORN_E_PROPAGATED);
    CHECK(record_of(rt, unbound).cause.id == bad.id);
    CHECK_EQUAL(dropped, status == NORN_OK ? 1 : 0);
    CHECK_OK(norn_close(rt));
    return 0;
}
