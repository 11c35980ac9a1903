/* Cancelling tasks that are about to run: each one runs or is cancelled, never both, never neither. */
#include "check.h"

static atomic_int ran, dropped;
static int32_t body(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    atomic_fetch_add(&ran, 1);
    return 0;
}
static void drop(void *arg) {
    (void)arg;
    atomic_fetch_add(&dropped, 1);
}

int main(void) {
    norn_runtime *rt = open_plain();
    const int64_t rounds = scaled(20000, 1000000);
    int64_t cancelled = 0;
    for (int64_t i = 0; i < rounds; i++) {
        norn_task task = task_of(body, NULL);
        task.drop = drop;
        norn_token token = submit(rt, &task);
        for (int spin = 0; spin < (int)(i % 50); spin++) atomic_load(&ran);
        norn_status status = norn_cancel(rt, token);
        CHECK(status == NORN_OK || status == NORN_E_TOO_LATE);
        cancelled += status == NORN_OK;
        CHECK_STATUS(norn_await(rt, token, FOREVER), status == NORN_OK ? NORN_E_CANCELLED : NORN_OK);
    }
    CHECK_EQUAL(ran + cancelled, rounds);
    CHECK_EQUAL(dropped, rounds);
    CHECK_OK(norn_close(rt));
    return 0;
}
