/* A task may submit its successor for ever: the parent is over, and nothing piles up. */
#include "check.h"

static norn_runtime *rt;
static norn_token finished;
static int64_t left;
static int32_t step_on(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    if (--left == 0) return norn_fulfill(rt, finished);
    submit_run(rt, step_on, NULL);
    return 0;
}

int main(void) {
    rt = open_plain();
    left = scaled(200000, 5000000);
    finished = promised(rt, "finished");
    submit_run(rt, step_on, NULL);
    CHECK_OK(norn_await(rt, finished, FOREVER));
    CHECK(stats_of(rt).memory_bytes < 64u << 20);
    CHECK_OK(norn_close(rt));
    return 0;
}
