/* A body may wait for a task of another runtime, and of one that it opened itself. */
#include "check.h"

static norn_runtime *outer, *inner;
static atomic_int ran, opened;
static norn_runtime *own[10];
static int32_t body(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    CHECK_OK(norn_await(inner, submit_run(inner, body_count, &ran), FOREVER));
    norn_runtime *mine = open_plain();
    CHECK_OK(norn_await(mine, submit_run(mine, body_count, &ran), FOREVER));
    own[atomic_fetch_add(&opened, 1)] = mine;
    return 0;
}

int main(void) {
    outer = open_plain();
    inner = open_plain();
    for (int i = 0; i < 10; i++) submit_run(outer, body, NULL);
    CHECK_OK(norn_drain(outer, FOREVER));
    CHECK_EQUAL(ran, 20);
    for (int i = 0; i < 10; i++) CHECK_OK(norn_close(own[i])); /* no runtime is closed inside a task */
    CHECK_OK(norn_close(outer));
    CHECK_OK(norn_close(inner));
    return 0;
}
