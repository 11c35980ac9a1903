/* The done token of a group completes after the close, when all members have. */
#include "check.h"

static atomic_int ran;
int main(void) {
    norn_runtime *rt = open_plain();
    norn_group group;
    norn_token done, gate = promised(rt, "gate");
    CHECK_OK(norn_group_open(rt, "group", (norn_group){0}, &group, &done));
    norn_token next = submit_after(rt, body_count, &ran, done); /* usable at once */
    for (int i = 0; i < 100; i++) {
        norn_task task = task_of(body_count, &ran);
        task.group = group;
        task.after = &gate;
        task.after_count = i % 2;
        submit(rt, &task);
    }
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_STATUS(norn_await(rt, done, 20 * MILLISECOND), NORN_E_TIMEOUT); /* still open */
    CHECK_OK(norn_group_close(rt, group));
    CHECK_OK(norn_await(rt, done, FOREVER));
    CHECK(ran >= 100);
    CHECK_OK(norn_await(rt, next, FOREVER));
    CHECK_EQUAL(ran, 101);

    CHECK_STATUS(norn_group_close(rt, group), NORN_E_STATE);
    norn_task task = task_of(body_must_not_run, NULL);
    task.group = group;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_CLOSED);
    norn_group inner;
    norn_token inner_done;
    CHECK_STATUS(norn_group_open(rt, "late", group, &inner, &inner_done), NORN_E_CLOSED);
    CHECK_STATUS(norn_group_close(rt, (norn_group){UINT64_MAX}), NORN_E_INVALID);
    CHECK_ERROR(norn_group_close(rt, (norn_group){0}));
    CHECK_OK(norn_close(rt));
    return 0;
}
