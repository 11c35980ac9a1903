/* A drain waits for what was submitted before it, not for what others go on to submit. */
#include "check.h"

static norn_runtime *rt;
static atomic_int stop, ran;
static int32_t nap(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    sleep_ms(5);
    atomic_fetch_add(&ran, 1);
    return 0;
}
static void *keep_busy(void *arg) {
    (void)arg;
    for (int i = 0; i < 4000 && !stop; i++) { /* there is always one that is not done */
        submit_run(rt, nap, NULL);
        sleep_ms(3);
    }
    return NULL;
}

int main(void) {
    rt = open_workers(4);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, keep_busy, NULL) == 0);
    WAIT_FOR(ran > 3);
    for (int i = 0; i < 5; i++) CHECK_OK(norn_drain(rt, 5 * SECOND));
    atomic_store(&stop, 1);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(stats_of(rt).live, 0);
    CHECK_OK(norn_close(rt));
    return 0;
}
