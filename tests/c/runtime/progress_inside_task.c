/* A progress call inside a body runs no other body on its stack. */
#include "check.h"

static norn_runtime *rt;
static _Thread_local int inside;
static atomic_int ran;
static int32_t body(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    CHECK_EQUAL(inside, 0);
    inside = 1;
    for (int i = 0; i < 5; i++) CHECK_OK(norn_progress(rt));
    inside = 0;
    atomic_fetch_add(&ran, 1);
    return 0;
}

int main(void) {
    rt = open_plain();
    for (int i = 0; i < 200; i++) submit_run(rt, body, NULL);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(ran, 200);
    CHECK_OK(norn_close(rt));
    return 0;
}
