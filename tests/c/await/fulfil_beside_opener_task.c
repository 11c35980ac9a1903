/* A promise kept from outside reaches a body that waits on the opener's stack, although a task for the opener is
   runnable and cannot run until then. */
#include "check.h"

static norn_runtime *rt;
static norn_token soon;
static atomic_int running, kept;

static int32_t awaits(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    CHECK_OK(norn_await(rt, soon, FOREVER));
    return 0;
}
static int32_t runs_meanwhile(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    atomic_store(&running, 1);
    WAIT_FOR(kept);
    return 0;
}
static void *keeps(void *arg) {
    (void)arg;
    WAIT_FOR(running);
    CHECK_OK(norn_fulfill(rt, soon));
    atomic_store(&kept, 1);
    return NULL;
}

int main(void) {
    for (int round = 0; round < 20; round++) {
        pthread_t thread;
        norn_task task = task_of(body_nothing, NULL);
        atomic_store(&running, 0);
        atomic_store(&kept, 0);
        rt = open_plain();
        soon = promised(rt, "soon");
        for (int i = 0; i < round % 4; i++) submit_run(rt, body_nothing, NULL); /* another order of a seed */
        submit_run(rt, awaits, NULL);
        task.place.kind = NORN_PLACE_OPENER;
        norn_token at_opener = submit(rt, &task);
        submit_run(rt, runs_meanwhile, NULL);
        CHECK(pthread_create(&thread, NULL, keeps, NULL) == 0);
        CHECK_OK(norn_await(rt, at_opener, FOREVER));
        CHECK_OK(norn_close(rt));
        CHECK(pthread_join(thread, NULL) == 0);
    }
    return 0;
}
