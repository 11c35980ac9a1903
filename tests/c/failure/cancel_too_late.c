/* A task that has started cannot be cancelled, but its body can see that somebody tried. */
#include "check.h"

static norn_runtime *rt;
static norn_token mine;

static int cancelled(norn_self *self) {
    norn_self_info info = NORN_SELF_INFO_INIT;
    CHECK_OK(norn_self_get(self, &info));
    mine = info.token;
    return info.cancelled;
}
static int32_t body(norn_self *self, void *arg) {
    (void)arg;
    CHECK_EQUAL(cancelled(self), 0);
    CHECK_STATUS(norn_cancel(rt, mine), NORN_E_TOO_LATE);
    CHECK_EQUAL(cancelled(self), 1);
    CHECK_STATUS(norn_cancel(rt, mine), NORN_E_TOO_LATE);
    return 0;
}
static int32_t cancel_other(norn_self *self, void *arg) {
    (void)self;
    CHECK_STATUS(norn_cancel(rt, *(norn_token *)arg), NORN_E_TOO_LATE);
    return 0;
}
static int32_t wait_for_canceller(norn_self *self, void *arg) {
    (void)arg;
    CHECK_EQUAL(cancelled(self), 0);
    norn_token self_token = mine;
    CHECK_OK(norn_await(rt, submit_run(rt, cancel_other, &self_token), FOREVER));
    CHECK_EQUAL(cancelled(self), 1);
    return 0;
}

int main(void) {
    rt = open_plain();
    norn_token token = submit_run(rt, body, NULL);
    CHECK_OK(norn_await(rt, token, FOREVER)); /* it ended well, and so it did */
    CHECK_STATUS(norn_cancel(rt, token), NORN_E_TOO_LATE);
    CHECK_OK(norn_await(rt, token, FOREVER));
    CHECK_OK(norn_await(rt, submit_run(rt, wait_for_canceller, NULL), FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
