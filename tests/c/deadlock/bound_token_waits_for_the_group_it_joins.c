/* A declared token that waits for a group's end by an edge, and nothing else, is not bound as a member of that group. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    norn_group group;
    norn_token done, token = declared(rt, "late");
    CHECK_OK(norn_group_open(rt, "circle", (norn_group){0}, &group, &done));
    CHECK_OK(norn_edge(rt, done, token));
    atomic_int ran = 0;
    norn_task task = task_of(body_count, &ran);
    task.group = group;
    task.as = token;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_DEADLOCK);
    CHECK_SAYS("circle");
    CHECK_SAYS("late");
    task.flags = NORN_HELD;
    CHECK_STATUS(norn_submit_many(rt, &task, 1, NULL), NORN_E_DEADLOCK);

    /* Outside the group it may wait for it. */
    task.flags = 0;
    task.group = (norn_group){0};
    CHECK_OK(norn_submit(rt, &task, NULL));
    CHECK_OK(norn_group_close(rt, group));
    CHECK_OK(norn_await(rt, token, FOREVER));
    CHECK_EQUAL(ran, 1);
    CHECK_OK(norn_close(rt));
    return 0;
}
