/* A callback must not wait, and is told so instead of hanging. */
#include "check.h"

static norn_runtime *rt;
static norn_token never;
static atomic_int called;
static void callback(void *arg, norn_token token, norn_status status) {
    (void)arg;
    (void)status;
    uint64_t index = 0;
    CHECK_STATUS(norn_await(rt, never, FOREVER), NORN_E_THREAD);
    CHECK_STATUS(norn_await(rt, never, SECOND), NORN_E_THREAD);
    CHECK_STATUS(norn_await_all(rt, &never, 1, FOREVER), NORN_E_THREAD);
    CHECK_STATUS(norn_await_any(rt, &never, 1, FOREVER, &index), NORN_E_THREAD);
    CHECK_STATUS(norn_await(rt, never, 0), NORN_E_TIMEOUT); /* looking */
    CHECK_OK(norn_await(rt, token, FOREVER));               /* complete: nothing to wait for */
    CHECK_STATUS(norn_drain(rt, FOREVER), NORN_E_WOULD_DEADLOCK);
    CHECK_STATUS(norn_close(rt), NORN_E_WOULD_DEADLOCK);
    CHECK(is_done(rt, token)); /* looking is allowed */
    atomic_store(&called, 1);
}

int main(void) {
    rt = open_plain();
    never = promised(rt, "never in time");
    norn_token token = submit_run(rt, body_nothing, NULL);
    CHECK_OK(norn_on_complete(rt, token, callback, NULL));
    PROGRESS_UNTIL(rt, called);
    CHECK_OK(norn_fulfill(rt, never));
    CHECK_OK(norn_close(rt));
    return 0;
}
