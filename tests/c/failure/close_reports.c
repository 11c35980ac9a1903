/* norn_close returns the first failure that nobody looked at, and closes all the same. */
#include "check.h"

static int32_t fail_with(norn_self *self, void *arg) { return norn_self_fail(self, 1, arg); }

int main(void) {
    /* Nobody looked. */
    norn_runtime *rt = open_plain();
    norn_token first = submit_run(rt, fail_with, "first text");
    CHECK_OK(norn_drain(rt, FOREVER)); /* does not look */
    submit_after(rt, body_must_not_run, NULL, first);
    submit_run(rt, fail_with, "second text");
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK(is_done(rt, first)); /* does not look either */
    CHECK_STATUS(norn_close(rt), NORN_E_TASK_FAILED);
    CHECK_SAYS("first text");
    CHECK_STATUS(norn_close(rt), NORN_E_INVALID); /* closed it is */

    /* The first was looked at by an await, the second not. */
    rt = open_plain();
    first = submit_run(rt, fail_with, "first text");
    CHECK_STATUS(norn_await(rt, first, FOREVER), NORN_E_TASK_FAILED);
    submit_run(rt, fail_with, "second text");
    CHECK_STATUS(norn_close(rt), NORN_E_TASK_FAILED);
    CHECK_SAYS("second text");

    /* All looked at: by await, by record, through a dependant. */
    rt = open_plain();
    first = submit_run(rt, fail_with, "first text");
    norn_token second = submit_run(rt, fail_with, "second text"), third = submit_run(rt, fail_with, "third text");
    norn_token behind = submit_after(rt, body_must_not_run, NULL, third);
    CHECK_STATUS(norn_await(rt, first, FOREVER), NORN_E_TASK_FAILED);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(record_of(rt, second).status, NORN_E_TASK_FAILED);
    CHECK_STATUS(norn_await(rt, behind, FOREVER), NORN_E_PROPAGATED);
    CHECK_OK(norn_close(rt));

    /* Looking never turns a failure into success. */
    rt = open_plain();
    first = submit_run(rt, fail_with, "first text");
    for (int i = 0; i < 3; i++) CHECK_STATUS(norn_await(rt, first, FOREVER), NORN_E_TASK_FAILED);
    CHECK_STATUS(norn_await(rt, submit_after(rt, body_must_not_run, NULL, first), FOREVER), NORN_E_PROPAGATED);
    CHECK_OK(norn_close(rt));
    return 0;
}
