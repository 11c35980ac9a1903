/* Many application threads wait for the same and for different tokens. */
#include "check.h"

enum { THREADS = 8, ROUNDS = 200 };
static norn_runtime *rt;
static norn_token common;

static void *waiter(void *arg) {
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        norn_token token = submit_run(rt, body_nothing, NULL);
        CHECK_OK(norn_await(rt, token, FOREVER));
    }
    CHECK_OK(norn_await(rt, common, FOREVER));
    return NULL;
}

int main(void) {
    rt = open_plain();
    norn_token gate = promised(rt, "gate");
    common = submit_after(rt, body_nothing, NULL, gate);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, waiter, NULL) == 0);
    sleep_ms(50);
    CHECK(!is_done(rt, common));
    CHECK_OK(norn_fulfill(rt, gate));
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK_OK(norn_close(rt));
    return 0;
}
