/* A promise that is failed has a record with the code and text given, and its dependants do not run. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token promise = promised(rt, "sensor");
    norn_token before = submit_after(rt, body_must_not_run, NULL, promise);

    CHECK_STATUS(norn_fail(rt, promise, 0, "zero is success"), NORN_E_INVALID);
    CHECK(!is_done(rt, promise));
    CHECK_OK(norn_fail(rt, promise, 41, "no signal"));

    CHECK_STATUS(norn_await(rt, promise, FOREVER), NORN_E_TASK_FAILED);
    CHECK_STATUS(norn_await(rt, before, FOREVER), NORN_E_PROPAGATED);
    norn_token after = submit_after(rt, body_must_not_run, NULL, promise);
    CHECK_STATUS(norn_await(rt, after, FOREVER), NORN_E_PROPAGATED);

    norn_error_info info = record_of(rt, promise);
    CHECK_EQUAL(info.status, NORN_E_TASK_FAILED);
    CHECK_EQUAL(info.code, 41);
    CHECK(strcmp(info.text, "no signal") == 0);
    CHECK(strcmp(info.task, "sensor") == 0);
    CHECK(strcmp(info.operation, "promise") == 0);
    CHECK(info.token.id == promise.id && info.cause.id == promise.id);

    info = record_of(rt, after);
    CHECK_EQUAL(info.status, NORN_E_PROPAGATED);
    CHECK_EQUAL(info.cause_status, NORN_E_TASK_FAILED);
    CHECK_EQUAL(info.code, 41);
    CHECK(info.token.id == after.id && info.cause.id == promise.id);

    /* The text is optional. */
    norn_token silent = promised(rt, NULL);
    CHECK_OK(norn_fail(rt, silent, -5, NULL));
    CHECK_STATUS(norn_await(rt, silent, FOREVER), NORN_E_TASK_FAILED);
    CHECK_EQUAL(record_of(rt, silent).code, -5);
    CHECK_OK(norn_close(rt));
    return 0;
}
