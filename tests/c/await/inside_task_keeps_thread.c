/* A body that awaits goes on upon the same thread, and no other body runs on its stack meanwhile. */
#include "check.h"

static norn_runtime *rt;
static _Thread_local int depth;
static atomic_int ran;

static int32_t other(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    CHECK_EQUAL(depth, 0);
    atomic_fetch_add(&ran, 1);
    return 0;
}
static int32_t waiter(norn_self *self, void *arg) {
    const long before = thread_id();
    (void)self;
    CHECK_EQUAL(depth, 0);
    depth = 1;
    for (int i = 0; i < 20; i++) {
        norn_token token = submit_run(rt, other, NULL);
        CHECK_OK(norn_await(rt, token, FOREVER));
        CHECK_EQUAL(thread_id(), before);
    }
    CHECK_STATUS(norn_await(rt, *(norn_token *)arg, 2 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_EQUAL(thread_id(), before);
    CHECK_EQUAL(depth, 1);
    depth = 0;
    return 0;
}

int main(void) {
    rt = open_plain();
    norn_token never = promised(rt, "never in time");
    norn_token all[10];
    for (int i = 0; i < 10; i++) all[i] = submit_run(rt, waiter, &never);
    CHECK_OK(norn_await_all(rt, all, 10, FOREVER));
    CHECK_EQUAL(ran, 10 * 20);
    CHECK_OK(norn_fulfill(rt, never));
    CHECK_OK(norn_close(rt));
    return 0;
}
