/* The thread hook sees the start and the stop of every thread norn makes, spares too, on that thread. */
#include "check.h"

static atomic_int starts, stops;
static _Thread_local int number = -1;
static norn_runtime *rt;
static long opener;
static void hook(void *arg, int32_t index, int32_t begin) {
    CHECK(arg == &starts);
    CHECK(thread_id() != opener);
    CHECK(index >= 0);
    if (begin) {
        CHECK_EQUAL(number, -1);
        number = index;
        atomic_fetch_add(&starts, 1);
    } else {
        CHECK_EQUAL(number, index);
        atomic_fetch_add(&stops, 1);
    }
}
static int32_t waiter(norn_self *self, void *arg) {
    (void)self;
    if (thread_id() != opener) CHECK(number >= 0);
    return norn_await(rt, *(norn_token *)arg, FOREVER);
}
/* From another thread: without workers the waiting bodies block main itself. */
static void *open_gate(void *arg) {
    sleep_ms(20);
    CHECK_OK(norn_fulfill(rt, *(norn_token *)arg));
    return NULL;
}

int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    opener = thread_id();
    config.thread = hook;
    config.thread_arg = &starts;
    for (int round = 0; round < 5; round++) {
        atomic_store(&starts, 0);
        atomic_store(&stops, 0);
        rt = open_with(&config);
        norn_token gate = promised(rt, "gate"), tokens[4];
        for (int i = 0; i < 4; i++) tokens[i] = submit_run(rt, waiter, &gate);
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, open_gate, &gate) == 0);
        CHECK_OK(norn_await_all(rt, tokens, 4, FOREVER));
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK(starts >= stats_of(rt).workers || runs_inside_calls_only(rt));
        CHECK_OK(norn_close(rt));
        CHECK_EQUAL(stops, starts);
    }
    return 0;
}
