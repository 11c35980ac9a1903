/* A predecessor that is complete, or completes while the edge is added, is satisfied; the successor runs exactly once. */
#include "check.h"

static norn_runtime *rt;
static atomic_int successors;
static int64_t rounds;

static void *race(void *arg) {
    (void)arg;
    for (int64_t i = 0; i < rounds; i++) {
        norn_token before = submit_run(rt, body_nothing, NULL);
        submit_after(rt, body_count, &successors, before);
        if (i % 64 == 63) CHECK_OK(norn_drain(rt, FOREVER));
    }
    return NULL;
}

int main(void) {
    rt = open_plain();
    rounds = scaled(100000, 500000);

    pthread_t other;
    CHECK(pthread_create(&other, NULL, race, NULL) == 0);
    race(NULL);
    CHECK(pthread_join(other, NULL) == 0);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(successors, 2 * rounds);

    /* Long after completion, in every way an edge can be declared. */
    norn_token old = submit_run(rt, body_nothing, NULL);
    CHECK_OK(norn_await(rt, old, FOREVER));
    sleep_ms(100);
    CHECK_OK(norn_await(rt, submit_after(rt, body_count, &successors, old), FOREVER));
    norn_task task = task_of(body_count, &successors);
    task.flags = NORN_HELD;
    norn_token held = submit(rt, &task);
    CHECK_OK(norn_edge(rt, old, held));
    CHECK_OK(norn_start(rt, held));
    CHECK_OK(norn_await(rt, held, FOREVER));
    norn_token unbound = declared(rt, "unbound");
    CHECK_OK(norn_edge(rt, old, unbound));
    task.flags = 0;
    task.as = unbound;
    submit(rt, &task);
    CHECK_OK(norn_await(rt, unbound, FOREVER));
    CHECK_EQUAL(successors, 2 * rounds + 3);
    CHECK_OK(norn_close(rt));
    return 0;
}
