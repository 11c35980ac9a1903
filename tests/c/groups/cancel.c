/* Cancelling the done token of a group cancels its members that have not started, in nested groups too. */
#include "check.h"

static atomic_int dropped;
int main(void) {
    norn_runtime *rt = open_plain();
    norn_group outer, inner;
    norn_token outer_done, inner_done, gate = promised(rt, "gate"), members[20];
    CHECK_OK(norn_group_open(rt, "outer", (norn_group){0}, &outer, &outer_done));
    CHECK_OK(norn_group_open(rt, "inner", outer, &inner, &inner_done));
    for (int i = 0; i < 20; i++) {
        norn_task task = task_of(body_must_not_run, &dropped);
        task.drop = drop_count;
        task.group = i % 2 ? outer : inner;
        task.after = &gate;
        task.after_count = 1;
        members[i] = submit(rt, &task);
    }
    norn_token bystander = submit_after(rt, body_nothing, NULL, gate);
    CHECK_OK(norn_group_close(rt, inner));
    CHECK_OK(norn_group_close(rt, outer));
    CHECK_OK(norn_cancel(rt, outer_done));
    for (int i = 0; i < 20; i++) CHECK_STATUS(norn_await(rt, members[i], FOREVER), NORN_E_CANCELLED);
    CHECK(norn_await(rt, outer_done, FOREVER) < 0);
    CHECK(norn_await(rt, inner_done, FOREVER) < 0);
    CHECK_EQUAL(record_of(rt, outer_done).cause_status, NORN_E_CANCELLED);
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_await(rt, bystander, FOREVER));
    CHECK_EQUAL(dropped, 20);
    CHECK_STATUS(norn_cancel(rt, outer_done), NORN_E_TOO_LATE);
    CHECK_OK(norn_close(rt));
    return 0;
}
