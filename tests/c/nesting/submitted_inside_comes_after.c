/* A task submitted inside a task takes its place after its parent on the parent's data. */
#include "check.h"

static norn_runtime *rt;
static norn_data data;
static int value, seen_inside, seen_outside;

static int32_t look(norn_self *self, void *arg) {
    (void)self;
    *(int *)arg = value;
    return 0;
}
static int32_t parent(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    value = 1;
    submit_on(rt, look, &seen_inside, norn_read(data));
    sleep_ms(5);
    CHECK_EQUAL(seen_inside, 0); /* not while the parent holds the datum */
    value = 2;
    return 0;
}

int main(void) {
    rt = open_plain();
    data = DATUM(rt, value);
    for (int i = 0; i < 10; i++) {
        value = seen_inside = seen_outside = 0;
        norn_token token = submit_on(rt, parent, NULL, norn_update(data));
        norn_token outside = submit_on(rt, look, &seen_outside, norn_read(data));
        CHECK_OK(norn_await(rt, token, FOREVER));
        CHECK_OK(norn_await(rt, outside, FOREVER));
        CHECK_OK(norn_drain(rt, FOREVER)); /* the parent does not wait for what is no child */
        CHECK_EQUAL(seen_inside, 2);
        CHECK_EQUAL(seen_outside, 2);
    }
    CHECK_OK(norn_close(rt));
    return 0;
}
