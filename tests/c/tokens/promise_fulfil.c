/* A task waits for a promise and runs after it is fulfilled. */
#include "check.h"

static atomic_int ran;

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token early = promised(rt, "early"), late = promised(rt, "late");
    CHECK(early.id != late.id);

    CHECK_OK(norn_fulfill(rt, early));
    CHECK(is_done(rt, early));
    CHECK_OK(norn_await(rt, early, 0));

    norn_token before[2] = {early, late};
    norn_task task = task_of(body_count, &ran);
    task.after = before;
    task.after_count = 2;
    norn_token token = submit(rt, &task);
    CHECK_STATUS(norn_await(rt, token, 20 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_EQUAL(ran, 0);
    CHECK(!is_done(rt, late));

    CHECK_OK(norn_fulfill(rt, late));
    CHECK_OK(norn_await(rt, token, FOREVER));
    CHECK_EQUAL(ran, 1);
    CHECK_EQUAL(record_of(rt, late).status, NORN_OK);
    CHECK_OK(norn_close(rt));
    return 0;
}
