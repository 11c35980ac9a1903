/* While a body runs on the opener, nothing is stuck and a close gives nothing up: the body may still fulfil. */
#include "check.h"

static norn_runtime *rt;
static norn_token kept;
static atomic_int runs, beside;

static int32_t fulfils_late(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    atomic_store(&runs, 1);
    WAIT_FOR(beside);
    sleep_ms(20); /* the other thread is inside its call, and every worker asleep */
    CHECK_OK(norn_fulfill(rt, kept));
    return 0;
}
static void *awaits(void *arg) {
    (void)arg;
    WAIT_FOR(runs);
    atomic_store(&beside, 1);
    CHECK_OK(norn_await(rt, kept, FOREVER));
    return NULL;
}
static void *closes(void *arg) {
    (void)arg;
    WAIT_FOR(runs);
    atomic_store(&beside, 1);
    CHECK_OK(norn_close(rt));
    return NULL;
}

static void run_beside(void *(*call)(void *), int seal) {
    pthread_t thread;
    norn_task task = task_of(fulfils_late, NULL);
    atomic_int ran = 0;
    rt = open_plain();
    kept = promised(rt, "kept");
    atomic_store(&runs, 0);
    atomic_store(&beside, 0);
    task.place.kind = NORN_PLACE_OPENER;
    norn_token at_opener = submit(rt, &task);
    submit_after(rt, body_count, &ran, kept);
    if (seal) CHECK_OK(norn_seal(rt));
    CHECK(pthread_create(&thread, NULL, call, NULL) == 0);
    CHECK_OK(norn_await(rt, at_opener, FOREVER));
    CHECK(pthread_join(thread, NULL) == 0);
    if (call != closes) CHECK_OK(norn_close(rt));
    CHECK_EQUAL(ran, 1);
}

int main(void) {
    run_beside(awaits, 1);
    run_beside(closes, 0);
    return 0;
}
