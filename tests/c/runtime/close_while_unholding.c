/* A close that waits for holds frees nothing that the thread which takes them off still uses. Sanitizers see it. */
#include "check.h"

typedef struct order {
    norn_runtime *rt;
    norn_token token;
    atomic_int ready;
} order;

static int32_t hold(norn_self *self, void *arg) {
    order *mine = arg;
    norn_self_info info = NORN_SELF_INFO_INIT;
    CHECK_OK(norn_self_get(self, &info));
    mine->token = info.token;
    CHECK_OK(norn_self_hold(self, 1));
    atomic_store(&mine->ready, 1);
    return 0;
}
static void *unhold(void *arg) {
    order *mine = arg;
    while (!atomic_load(&mine->ready)) sched_yield();
    CHECK_OK(norn_unhold(mine->rt, mine->token, 1));
    return NULL;
}
/* The close may be faster: then it has failed the promise. */
static void *fulfil(void *arg) {
    order *mine = arg;
    const norn_status status = norn_fulfill(mine->rt, mine->token);
    CHECK(status == NORN_OK || status == NORN_E_STATE || status == NORN_E_INVALID);
    return NULL;
}

int main(void) {
    for (int i = 0; i < scaled(100, 10000); i++) {
        order holds = {open_plain(), {0}, 0}, promises = {holds.rt, {0}, 0};
        promises.token = promised(holds.rt, "promise");
        pthread_t threads[2];
        submit_run(holds.rt, hold, &holds);
        CHECK(pthread_create(&threads[0], NULL, unhold, &holds) == 0);
        CHECK(pthread_create(&threads[1], NULL, fulfil, &promises) == 0);
        CHECK_OK(norn_close(holds.rt));
        for (int t = 0; t < 2; t++) pthread_join(threads[t], NULL);
    }
    return 0;
}
