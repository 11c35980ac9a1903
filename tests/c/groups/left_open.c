/* A group left open, with and without members, does not keep the runtime from closing. */
#include "check.h"

static atomic_int ran;
int main(void) {
    norn_runtime *rt = open_plain();
    norn_group group, empty;
    norn_token done, empty_done;
    CHECK_OK(norn_group_open(rt, "left open", (norn_group){0}, &group, &done));
    CHECK_OK(norn_group_open(rt, "empty", (norn_group){0}, &empty, &empty_done));
    norn_task task = task_of(body_count, &ran);
    task.group = group;
    submit(rt, &task);
    norn_close(rt); /* whichever status: the group never completed */
    CHECK_EQUAL(ran, 1);
    CHECK_STATUS(norn_progress(rt), NORN_E_INVALID);
    return 0;
}
