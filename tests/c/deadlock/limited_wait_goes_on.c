/* A body in a wait with a limit goes on when it passes: what waits for that body is no deadlock, sealed or not. */
#include "check.h"

static norn_runtime *rt;
static norn_token promise;
static int32_t keeps_it_in_time(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    CHECK_STATUS(norn_await(rt, promise, 20 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_OK(norn_fulfill(rt, promise));
    return 0;
}

int main(void) {
    for (int i = 0; i < 5; i++) {
        atomic_int ran = 0;
        rt = open_plain();
        promise = promised(rt, "promise");
        submit_run(rt, keeps_it_in_time, NULL);
        norn_token after = submit_after(rt, body_count, &ran, promise);
        CHECK_OK(norn_seal(rt));
        CHECK_OK(norn_await(rt, after, FOREVER));
        CHECK_EQUAL(ran, 1);
        CHECK_OK(norn_close(rt));
    }
    return 0;
}
