/* A thread that norn has never seen completes a promise. */
#include "check.h"

enum { PROMISES = 500 };
static norn_runtime *rt;
static norn_token promises[PROMISES];
static atomic_int ran;

static void *foreign(void *arg) {
    (void)arg;
    for (int i = 0; i < PROMISES; i++) {
        if (i % 50 == 0) sleep_ms(1);
        CHECK_OK(norn_fulfill(rt, promises[i]));
    }
    return NULL;
}

int main(void) {
    rt = open_plain();
    norn_token tasks[PROMISES];
    for (int i = 0; i < PROMISES; i++) {
        promises[i] = promised(rt, "foreign");
        tasks[i] = submit_after(rt, body_count, &ran, promises[i]);
    }
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, foreign, NULL) == 0);
    CHECK_OK(norn_await_all(rt, tasks, PROMISES, FOREVER));
    CHECK_EQUAL(ran, PROMISES);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_OK(norn_close(rt));
    return 0;
}
