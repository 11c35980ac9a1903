/* COMMUTE accesses run one at a time, and all of them between their neighbours. */
#include "check.h"

enum { TASKS = 2000 };
static int value, seen_after;
static atomic_int inside;
static int32_t set_7(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    value = 7;
    return 0;
}
static int32_t add_1(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    CHECK_EQUAL(atomic_fetch_add(&inside, 1), 0);
    value = value + 1;
    CHECK_EQUAL(atomic_fetch_sub(&inside, 1), 1);
    return 0;
}
static int32_t look(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    seen_after = value;
    return 0;
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data data = DATUM(rt, value);
    submit_on(rt, set_7, NULL, norn_write(data));
    for (int i = 0; i < TASKS; i++) submit_on(rt, add_1, NULL, norn_commute(data));
    submit_on(rt, look, NULL, norn_read(data));
    for (int i = 0; i < TASKS; i++) submit_on(rt, add_1, NULL, norn_commute(data));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(seen_after, 7 + TASKS);
    CHECK_EQUAL(value, 7 + 2 * TASKS);
    CHECK_OK(norn_close(rt));
    return 0;
}
