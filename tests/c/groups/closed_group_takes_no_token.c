/* A submit refused because its group is closed leaves the declared token free for another task. */
#include "check.h"

static atomic_int ran;
int main(void) {
    norn_runtime *rt = open_plain();
    norn_group group;
    norn_token done, gate = promised(rt, "gate"), late = declared(rt, "late");
    CHECK_OK(norn_group_open(rt, "g", (norn_group){0}, &group, &done));
    norn_task member = task_of(body_count, &ran);
    member.group = group;
    member.after = &gate;
    member.after_count = 1;
    submit(rt, &member);
    CHECK_OK(norn_group_close(rt, group));

    norn_task task = task_of(body_must_not_run, NULL);
    task.group = group;
    task.as = late;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_CLOSED);
    task = task_of(body_count, &ran);
    task.as = late;
    submit(rt, &task);
    CHECK_OK(norn_await(rt, late, FOREVER));
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_await(rt, done, FOREVER));
    CHECK_EQUAL(ran, 2);
    CHECK_OK(norn_close(rt));
    return 0;
}
