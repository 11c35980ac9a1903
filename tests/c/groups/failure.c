/* done fails with the first member's failure; the other members run to their end. */
#include "check.h"

static atomic_int ran;
static norn_token member(norn_runtime *rt, norn_group group, norn_task_fn run, void *arg, norn_token before, uint32_t flags) {
    norn_task task = task_of(run, arg);
    task.group = group;
    task.flags = flags;
    task.after = &before;
    task.after_count = 1;
    return submit(rt, &task);
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_group outer, group;
    norn_token outer_done, done, gate = promised(rt, "gate");
    int one = 1, two = 2;
    CHECK_OK(norn_group_open(rt, "outer", (norn_group){0}, &outer, &outer_done));
    CHECK_OK(norn_group_open(rt, "group", outer, &group, &done));
    norn_token first = member(rt, group, body_fail, &one, gate, 0);
    member(rt, group, body_fail, &two, first, NORN_RUN_ALWAYS); /* fails too, but later */
    for (int i = 0; i < 20; i++) member(rt, group, body_count, &ran, gate, 0);
    CHECK_OK(norn_group_close(rt, group));
    CHECK_OK(norn_group_close(rt, outer));
    norn_token next = submit_after(rt, body_must_not_run, NULL, done);
    CHECK_OK(norn_fulfill(rt, gate));

    norn_token failed[3] = {done, outer_done, next};
    for (int i = 0; i < 3; i++) {
        norn_status status = norn_await(rt, failed[i], FOREVER);
        CHECK(status == NORN_E_TASK_FAILED || status == NORN_E_PROPAGATED);
        norn_error_info info = record_of(rt, failed[i]);
        CHECK_EQUAL(info.code, 1);
        CHECK(info.cause.id == first.id);
    }
    CHECK_EQUAL(ran, 20);
    norn_close(rt);
    return 0;
}
