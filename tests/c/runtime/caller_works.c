/* With NORN_CALLER_WORKS the opener is one of the workers while it waits. */
#include "check.h"

static atomic_int inside;
static int32_t note_thread(norn_self *self, void *arg) {
    (void)self;
    *(long *)arg = thread_id();
    return 0;
}
static int32_t meet(norn_self *self, void *arg) {
    (void)self;
    atomic_fetch_add(&inside, 1);
    WAIT_FOR(inside == *(int *)arg);
    return 0;
}

int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    config.flags = NORN_CALLER_WORKS;
    config.workers = 1;
    norn_runtime *rt = open_with(&config);
    long runner = 0;
    CHECK_EQUAL(stats_of(rt).workers, 1);
    norn_token token = submit_run(rt, note_thread, &runner);
    sleep_ms(20);
    CHECK(!is_done(rt, token));
    CHECK_OK(norn_await(rt, token, FOREVER));
    CHECK_EQUAL(runner, thread_id());
    CHECK_OK(norn_close(rt));

    config.workers = 3;
    rt = open_with(&config);
    CHECK_EQUAL(stats_of(rt).workers, 3);
    int three = 3;
    for (int round = 0; round < 10; round++) {
        atomic_store(&inside, 0);
        for (int i = 0; i < 3; i++) submit_run(rt, meet, &three); /* needs three bodies at once */
        CHECK_OK(norn_drain(rt, FOREVER));
    }
    CHECK_OK(norn_close(rt));
    return 0;
}
