/* A cancelled task does not run; it fails as cancelled and its dependants as propagated. */
#include "check.h"

static atomic_int dropped;

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token gate = promised(rt, "gate");
    norn_task task = task_of(body_must_not_run, &dropped);
    task.name = "unwanted";
    task.drop = drop_count;
    task.after = &gate;
    task.after_count = 1;
    norn_token token = submit(rt, &task);
    norn_token behind = submit_after(rt, body_must_not_run, NULL, token);
    CHECK_OK(norn_cancel(rt, token));
    CHECK_STATUS(norn_await(rt, token, FOREVER), NORN_E_CANCELLED);
    CHECK_EQUAL(dropped, 1);
    CHECK_STATUS(norn_await(rt, behind, FOREVER), NORN_E_PROPAGATED);
    norn_error_info info = record_of(rt, behind);
    CHECK_EQUAL(info.cause_status, NORN_E_CANCELLED);
    CHECK(info.cause.id == token.id);
    CHECK_STATUS(norn_cancel(rt, token), NORN_E_TOO_LATE);
    CHECK_STATUS(norn_cancel(rt, behind), NORN_E_TOO_LATE);

    /* Held; and on a datum, which fails with its writer. */
    int value = 0;
    norn_data data = DATUM(rt, value);
    norn_access access = norn_write(data);
    task.after_count = 0;
    task.flags = NORN_HELD;
    task.accesses = &access;
    task.access_count = 1;
    token = submit(rt, &task);
    norn_token reader = submit_on(rt, body_must_not_run, NULL, norn_read(data));
    CHECK_OK(norn_cancel(rt, token));
    CHECK_STATUS(norn_await(rt, reader, FOREVER), NORN_E_PROPAGATED);
    CHECK_STATUS(norn_start(rt, token), NORN_E_STATE);
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_drain(rt, FOREVER));
    norn_runtime_stats stats = stats_of(rt);
    CHECK_EQUAL(stats.cancelled, 2);
    CHECK_EQUAL(stats.propagated, 2);
    CHECK_EQUAL(stats.failed, 0);
    CHECK_OK(norn_close(rt)); /* asked for by the application: not a failure it has to hear of */
    CHECK_EQUAL(dropped, 2);
    return 0;
}
