/* A close ends the waits of many threads at once, and frees nothing that they still use on their way out. */
#include "check.h"

enum { WAITERS = 24, ROUNDS = 10 };
static norn_runtime *rt;
static norn_token never;
static atomic_int waiting;
static void *wait_for_ever(void *arg) {
    (void)arg;
    atomic_fetch_add(&waiting, 1);
    const norn_status status = norn_await(rt, never, FOREVER);
    CHECK(status == NORN_E_CANCELLED || status == NORN_E_CLOSED);
    return NULL;
}

int main(void) {
    for (int round = 0; round < ROUNDS; round++) {
        rt = open_workers(1);
        never = promised(rt, "never");
        atomic_store(&waiting, 0);
        pthread_t threads[WAITERS];
        for (int i = 0; i < WAITERS; i++) CHECK(pthread_create(&threads[i], NULL, wait_for_ever, NULL) == 0);
        WAIT_FOR(waiting == WAITERS);
        sleep_ms(60); /* all are inside the wait by now */
        norn_close_with(rt, NORN_CANCEL, FOREVER);
        for (int i = 0; i < WAITERS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    }
    return 0;
}
