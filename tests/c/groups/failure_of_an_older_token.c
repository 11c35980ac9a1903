/* done of a group points to the failure of a token whose slot it has been given itself: that is no failure of its own. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    for (int i = 0; i < 100; i++) {
        norn_token promise = promised(rt, "promise"), done;
        norn_group group;
        CHECK_OK(norn_fail(rt, promise, 5, "lost"));
        CHECK_STATUS(norn_await(rt, promise, FOREVER), NORN_E_TASK_FAILED);
        CHECK_OK(norn_group_open(rt, "group", (norn_group){0}, &group, &done));
        norn_task task = task_of(body_must_not_run, NULL);
        task.group = group;
        task.after = &promise;
        task.after_count = 1;
        submit(rt, &task);
        CHECK_OK(norn_group_close(rt, group));
        CHECK_STATUS(norn_await(rt, done, FOREVER), NORN_E_PROPAGATED);
        CHECK(record_of(rt, done).cause.id == promise.id);
    }
    CHECK_OK(norn_close(rt));
    return 0;
}
