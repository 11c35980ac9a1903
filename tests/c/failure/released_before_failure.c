/* What was released early is committed: the task's later failure does not touch it. */
#include "check.h"

static int early, late;
static norn_data early_data, late_data;

static int32_t release_then_fail(norn_self *self, void *arg) {
    (void)arg;
    early = 8;
    CHECK_OK(norn_self_release(self, early_data));
    return 13;
}
static int32_t expect_8(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    CHECK_EQUAL(early, 8);
    return 0;
}

int main(void) {
    norn_runtime *rt = open_plain();
    early_data = DATUM(rt, early);
    late_data = DATUM(rt, late);
    norn_access both[2] = {norn_write(early_data), norn_write(late_data)};
    norn_task task = task_of(release_then_fail, NULL);
    task.accesses = both;
    task.access_count = 2;
    norn_token failing = submit(rt, &task);
    norn_token good = submit_on(rt, expect_8, NULL, norn_read(early_data));
    norn_token bad = submit_on(rt, body_must_not_run, NULL, norn_read(late_data));
    CHECK_STATUS(norn_await(rt, failing, FOREVER), NORN_E_TASK_FAILED);
    CHECK_OK(norn_await(rt, good, FOREVER));
    CHECK_STATUS(norn_await(rt, bad, FOREVER), NORN_E_PROPAGATED);
    CHECK_OK(norn_await(rt, submit_on(rt, expect_8, NULL, norn_update(early_data)), FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
