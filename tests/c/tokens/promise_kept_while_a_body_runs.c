/* A promise that another thread has kept while a body runs is kept, in the modes too that deliver it later: the body's
   own keeping and a cancel come too late. */
#include "check.h"

static norn_runtime *rt;
static norn_token promise;
static atomic_int runs, kept;

static int32_t keeps_too_late(norn_self *self, void *arg) {
    (void)self, (void)arg;
    runs = 1;
    WAIT_FOR(kept);
    CHECK_STATUS(norn_fulfill(rt, promise), NORN_E_STATE);
    CHECK_STATUS(norn_fail(rt, promise, 4, "second"), NORN_E_STATE);
    CHECK_STATUS(norn_cancel(rt, promise), NORN_E_TOO_LATE);
    return 0;
}

static void *keeps(void *arg) {
    (void)arg;
    WAIT_FOR(runs);
    CHECK_OK(norn_fail(rt, promise, 3, "first"));
    CHECK_STATUS(norn_fulfill(rt, promise), NORN_E_STATE);
    kept = 1;
    return NULL;
}

int main(void) {
    rt = open_plain();
    promise = promised(rt, "kept outside");
    pthread_t other;
    CHECK_EQUAL(pthread_create(&other, NULL, keeps, NULL), 0);
    CHECK_OK(norn_await(rt, submit_run(rt, keeps_too_late, NULL), FOREVER));
    CHECK_STATUS(norn_await(rt, promise, FOREVER), NORN_E_TASK_FAILED);
    CHECK_EQUAL(record_of(rt, promise).code, 3);
    CHECK_EQUAL(pthread_join(other, NULL), 0);
    CHECK_OK(norn_close(rt));
    return 0;
}
