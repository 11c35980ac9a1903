/* Many threads submit at once; every task runs once and all are drained. */
#include "check.h"

enum { THREADS = 8 };
static norn_runtime *rt;
static atomic_int ran;
static int64_t rounds;
static void *submitter(void *arg) {
    norn_token last = {0};
    (void)arg;
    for (int64_t i = 0; i < rounds; i++)
        last = i % 3 ? submit_run(rt, body_count, &ran) : submit_after(rt, body_count, &ran, last);
    CHECK_OK(norn_await(rt, last, FOREVER));
    return NULL;
}

int main(void) {
    rt = open_plain();
    rounds = scaled(10000, 1000000);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, submitter, NULL) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(ran, THREADS * rounds);
    CHECK_OK(norn_close(rt));
    return 0;
}
