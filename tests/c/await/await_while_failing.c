/* Tokens that fail while many wait for them wake every waiter with the failure. */
#include "check.h"

enum { THREADS = 6 };
static norn_runtime *rt;
static norn_token head, tail;

static void *wait_for_tail(void *arg) {
    (void)arg;
    CHECK_STATUS(norn_await(rt, tail, FOREVER), NORN_E_PROPAGATED);
    CHECK(record_of(rt, tail).cause.id == head.id);
    return NULL;
}

int main(void) {
    rt = open_plain();
    for (int round = 0; round < 20; round++) {
        head = promised(rt, "head");
        tail = head;
        for (int i = 0; i < 100; i++) tail = submit_after(rt, body_must_not_run, NULL, tail);
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, wait_for_tail, NULL) == 0);
        if (round % 2) sleep_ms(2);
        CHECK_OK(norn_fail(rt, head, 12, "gone"));
        for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK_OK(norn_close(rt));
    return 0;
}
