/* A close that only it can end (what is left waits for a promise nobody keeps) ends while other threads sleep in their
   awaits, one of them where bodies run. */
#include "check.h"

enum { WAITERS = 2 };
static norn_runtime *rt;
static norn_token never;
static atomic_int begun;

/* The close may end before this thread has begun to wait: then the handle is no more. */
static void await_the_close(void) {
    const norn_status status = norn_await(rt, never, FOREVER);
    CHECK(status == NORN_E_CLOSED || status == NORN_E_INVALID);
}

static void *waiter(void *arg) {
    (void)arg;
    atomic_fetch_add(&begun, 1);
    await_the_close();
    return NULL;
}
static void *closer(void *arg) {
    (void)arg;
    const norn_status status = norn_close(rt); /* a waiter may have looked at the failure already */
    CHECK(status == NORN_OK || status == NORN_E_CLOSED);
    return NULL;
}
static int32_t body_awaits(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    atomic_fetch_add(&begun, 1);
    CHECK_STATUS(norn_await(rt, never, FOREVER), NORN_E_CLOSED);
    return 0;
}

/* What is left at the close. */
static int a_body_that_awaits(void) {
    submit_run(rt, body_awaits, NULL);
    return 1;
}
static int a_body_of_the_opener(void) {
    norn_task task = task_of(body_awaits, NULL);
    task.place.kind = NORN_PLACE_OPENER;
    submit(rt, &task);
    return 1;
}
static int a_task_that_waits(void) {
    submit_after(rt, body_must_not_run, NULL, never);
    return 0;
}

static void close_beside(int (*leave)(void), int main_waits, int rest_ms) {
    pthread_t threads[WAITERS], closing;
    rt = open_plain();
    never = promised(rt, "never");
    atomic_store(&begun, 0);
    const int bodies = leave();
    const int others = main_waits ? WAITERS - 1 : WAITERS;
    for (int i = 0; i < others; i++) CHECK(pthread_create(&threads[i], NULL, waiter, NULL) == 0);
    if (main_waits) {
        /* A body of the opener, or in modes without workers any, begins in here. */
        WAIT_FOR(begun >= others);
        CHECK(pthread_create(&closing, NULL, closer, NULL) == 0);
        await_the_close();
        CHECK(pthread_join(closing, NULL) == 0);
    } else {
        WAIT_FOR(begun == others + bodies);
        sleep_ms(rest_ms); /* all are inside their waits by now */
        closer(NULL);
    }
    for (int i = 0; i < others; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(void) {
    for (int round = 0; round < 10; round++) {
        for (int main_waits = 0; main_waits < 2; main_waits++) {
            close_beside(a_body_that_awaits, main_waits, round % 5);
            close_beside(a_task_that_waits, main_waits, round % 5);
        }
        close_beside(a_body_of_the_opener, 1, 0);
    }
    return 0;
}
