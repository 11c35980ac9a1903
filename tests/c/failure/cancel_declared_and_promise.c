/* Declared tokens and promises can be cancelled; what comes for them afterwards is refused. */
#include "check.h"

static atomic_int dropped;
int main(void) {
    norn_runtime *rt = open_plain();
    norn_token unbound = declared(rt, "unbound"), promise = promised(rt, "promise");
    norn_token a = submit_after(rt, body_must_not_run, NULL, unbound);
    norn_token b = submit_after(rt, body_must_not_run, NULL, promise);
    CHECK_OK(norn_cancel(rt, unbound));
    CHECK_OK(norn_cancel(rt, promise));
    CHECK_STATUS(norn_await(rt, unbound, FOREVER), NORN_E_CANCELLED);
    CHECK_STATUS(norn_await(rt, promise, FOREVER), NORN_E_CANCELLED);
    CHECK_STATUS(norn_await(rt, a, FOREVER), NORN_E_PROPAGATED);
    CHECK_STATUS(norn_await(rt, b, FOREVER), NORN_E_PROPAGATED);

    norn_task task = task_of(body_must_not_run, &dropped);
    task.drop = drop_count;
    task.as = unbound;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_STATE);
    CHECK_STATUS(norn_fulfill(rt, promise), NORN_E_STATE);
    CHECK_STATUS(norn_fail(rt, promise, 1, "late"), NORN_E_STATE);
    CHECK_EQUAL(dropped, 0);
    CHECK_OK(norn_close(rt));
    return 0;
}
