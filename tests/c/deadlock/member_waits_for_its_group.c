/* A member of a group that would wait for the group's own end is refused, directly and through another task. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    norn_group group;
    norn_token done;
    CHECK_OK(norn_group_open(rt, "circle", (norn_group){0}, &group, &done));
    norn_task task = task_of(body_must_not_run, NULL);
    task.group = group;
    task.after = &done;
    task.after_count = 1;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_DEADLOCK);
    CHECK_SAYS("circle");

    atomic_int ran = 0;
    norn_token behind = submit_after(rt, body_count, &ran, done);
    task.after = &behind;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_DEADLOCK);
    CHECK_OK(norn_group_close(rt, group));
    CHECK_OK(norn_await(rt, behind, FOREVER));
    CHECK_EQUAL(ran, 1);
    CHECK_OK(norn_close(rt));
    return 0;
}
