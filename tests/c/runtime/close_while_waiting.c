/* A thread that waits inside the runtime comes back when another closes it. */
#include "check.h"

static norn_runtime *rt;
static norn_token never;
static atomic_int waiting;
static void *waiter(void *arg) {
    (void)arg;
    atomic_fetch_add(&waiting, 1);
    norn_status status = norn_await(rt, never, FOREVER);
    CHECK(status == NORN_E_CLOSED || status == NORN_E_INVALID);
    return NULL;
}

int main(void) {
    for (int i = 0; i < 20; i++) {
        rt = open_plain();
        never = promised(rt, "never");
        atomic_store(&waiting, 0);
        pthread_t threads[3];
        for (int k = 0; k < 3; k++) CHECK(pthread_create(&threads[k], NULL, waiter, NULL) == 0);
        WAIT_FOR(waiting == 3);
        sleep_ms(i % 3);
        norn_close(rt);
        for (int k = 0; k < 3; k++) CHECK(pthread_join(threads[k], NULL) == 0);
    }
    return 0;
}
