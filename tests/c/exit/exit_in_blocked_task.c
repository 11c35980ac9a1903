/* exit(0) inside a task ends the process although other bodies are blocked and callbacks are registered. */
#include "check.h"

static norn_runtime *rt;
static norn_token never;
static int32_t blocked(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    norn_await(rt, never, 20 * SECOND);
    return 0;
}
static int32_t leave(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    exit(0);
}
static void at_exit(void) {
    /* The runtime is still there, with its threads: calls answer. */
    int32_t done = 1;
    if (norn_test(rt, never, &done) != NORN_OK || done != 0) _exit(4);
}
static void note(void *arg, norn_token token, norn_status status) {
    (void)arg;
    (void)token;
    (void)status;
}
int main(void) {
    CHECK(atexit(at_exit) == 0);
    rt = open_plain();
    never = promised(rt, "never");
    CHECK_OK(norn_on_complete(rt, never, note, NULL));
    for (int i = 0; i < 3; i++) submit_run(rt, blocked, NULL);
    submit_run(rt, leave, NULL);
    norn_await(rt, never, 20 * SECOND);
    return 1;
}
