/* A callback must not wait, and is told so instead of hanging. */
#include "check.h"

static norn_runtime *rt;
static norn_token never;
static atomic_int called;
static void callback(void *arg, norn_token token, norn_status status) {
    (void)arg;
    (void)status;
    CHECK_ERROR(norn_await(rt, never, FOREVER));
    CHECK_ERROR(norn_drain(rt, FOREVER));
    CHECK_ERROR(norn_close(rt));
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
