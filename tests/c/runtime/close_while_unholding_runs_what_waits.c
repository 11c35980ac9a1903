/* A close that waits for holds runs what waits for their task: a hold taken off just now is no dead end. */
#include "check.h"

static atomic_int ran;
static norn_runtime *rt;
static norn_token held;
static atomic_int ready;

static int32_t hold(norn_self *self, void *arg) {
    norn_self_info info = NORN_SELF_INFO_INIT;
    (void)arg;
    CHECK_OK(norn_self_get(self, &info));
    held = info.token;
    CHECK_OK(norn_self_hold(self, 1));
    atomic_store(&ready, 1);
    return 0;
}
static void *unhold(void *arg) {
    const int pause = *(int *)arg;
    while (!atomic_load(&ready)) sched_yield();
    for (int i = 0; i < pause; i++) sched_yield();
    CHECK_OK(norn_unhold(rt, held, 1));
    return NULL;
}

int main(void) {
    for (int i = 0; i < scaled(300, 30000); i++) {
        int pause = i % 30;
        pthread_t thread;
        atomic_store(&ready, 0);
        rt = open_plain();
        norn_token before = submit_run(rt, hold, NULL);
        submit_after(rt, body_count, &ran, before);
        CHECK(pthread_create(&thread, NULL, unhold, &pause) == 0);
        CHECK_OK(norn_close(rt));
        pthread_join(thread, NULL);
        CHECK_EQUAL(ran, i + 1);
    }
    return 0;
}
