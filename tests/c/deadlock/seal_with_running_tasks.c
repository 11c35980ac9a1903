/* A sealed runtime still lets its tasks submit and fulfil: only what none of them can serve is a deadlock. */
#include "check.h"

static norn_runtime *rt;
static norn_token promise;
static int left = 20;
static atomic_int ran;
static int32_t chain(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    sleep_ms(2);
    if (--left == 0) return norn_fulfill(rt, promise);
    submit_run(rt, chain, NULL);
    return 0;
}

int main(void) {
    rt = open_plain();
    promise = promised(rt, "promise");
    norn_token after = submit_after(rt, body_count, &ran, promise);
    submit_run(rt, chain, NULL);
    CHECK_OK(norn_seal(rt));
    CHECK_OK(norn_await(rt, after, FOREVER));
    CHECK_EQUAL(ran, 1);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
