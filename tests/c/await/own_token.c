/* A body that waits for itself, or for everything, is told NORN_E_WOULD_DEADLOCK. */
#include "check.h"

static norn_runtime *rt;
static norn_token of_group;

static int32_t body(norn_self *self, void *arg) {
    norn_self_info info = NORN_SELF_INFO_INIT;
    (void)arg;
    CHECK_OK(norn_self_get(self, &info));
    CHECK_STATUS(norn_await(rt, info.token, FOREVER), NORN_E_WOULD_DEADLOCK);
    CHECK_STATUS(norn_await_all(rt, &info.token, 1, FOREVER), NORN_E_WOULD_DEADLOCK);
    CHECK_STATUS(norn_drain(rt, FOREVER), NORN_E_WOULD_DEADLOCK);
    CHECK_STATUS(norn_close(rt), NORN_E_WOULD_DEADLOCK);
    /* The group of this task completes only after this task. */
    CHECK_STATUS(norn_await(rt, of_group, FOREVER), NORN_E_WOULD_DEADLOCK);
    return 0;
}

int main(void) {
    rt = open_plain();
    norn_group group;
    CHECK_OK(norn_group_open(rt, "group", (norn_group){0}, &group, &of_group));
    norn_task task = task_of(body, NULL);
    task.group = group;
    norn_token token = submit(rt, &task);
    CHECK_OK(norn_group_close(rt, group));
    CHECK_OK(norn_await(rt, token, FOREVER));
    CHECK_OK(norn_await(rt, of_group, FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
