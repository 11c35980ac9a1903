/* A body may await a token of another runtime whose task awaits one of the first: both give their slots up. */
#include "check.h"

static norn_runtime *one, *other;
static norn_token reached_from_other;
static int32_t fulfil(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    return norn_fulfill(one, reached_from_other);
}
static int32_t in_other(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    submit_run(one, fulfil, NULL); /* needs the slot of the body that waits for this one */
    CHECK_OK(norn_await(one, reached_from_other, FOREVER));
    return 0;
}
static int32_t in_one(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    CHECK_OK(norn_await(other, submit_run(other, in_other, NULL), FOREVER));
    return 0;
}

int main(void) {
    one = open_workers(1);
    other = open_workers(1);
    for (int round = 0; round < 20; round++) {
        reached_from_other = promised(one, "reached");
        CHECK_OK(norn_await(one, submit_run(one, in_one, NULL), FOREVER));
    }
    CHECK_OK(norn_close(one));
    CHECK_OK(norn_close(other));
    return 0;
}
