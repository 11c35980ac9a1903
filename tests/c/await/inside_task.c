/* A body may await: others run meanwhile, also with one worker and in the one-thread modes. */
#include "check.h"

enum { DEPTH = 30 };
static norn_runtime *rt;
static norn_token links[DEPTH + 1];
static atomic_int reached;

/* Each waits for the next; only the last can run without waiting. */
static int32_t wait_for_next(norn_self *self, void *arg) {
    const int mine = *(int *)arg;
    (void)self;
    if (mine < DEPTH) CHECK_OK(norn_await(rt, links[mine + 1], FOREVER));
    CHECK_EQUAL(atomic_fetch_add(&reached, 1), DEPTH - mine);
    return 0;
}

static int32_t submit_and_wait(norn_self *self, void *arg) {
    atomic_int *count = arg;
    (void)self;
    norn_token tokens[10];
    for (int i = 0; i < 10; i++) tokens[i] = submit_run(rt, body_count, count);
    CHECK_OK(norn_await_all(rt, tokens, 10, FOREVER));
    CHECK(*count >= 10);
    return 0;
}

int main(void) {
    rt = open_plain();
    int numbers[DEPTH + 1];
    for (int i = 0; i <= DEPTH; i++) links[i] = declared(rt, "link");
    for (int i = 0; i <= DEPTH; i++) {
        numbers[i] = i;
        norn_task task = task_of(wait_for_next, &numbers[i]);
        task.as = links[i];
        submit(rt, &task);
    }
    CHECK_OK(norn_await(rt, links[0], FOREVER));
    CHECK_EQUAL(reached, DEPTH + 1);

    atomic_int count = 0;
    for (int i = 0; i < 50; i++) submit_run(rt, submit_and_wait, &count);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(count, 500);
    CHECK_EQUAL(stats_of(rt).blocked_bodies, 0);
    CHECK_OK(norn_close(rt));
    return 0;
}
