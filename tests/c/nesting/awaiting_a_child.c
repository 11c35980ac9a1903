/* A parent may await its children inside its body, also on the datum it holds. */
#include "check.h"

static norn_runtime *rt;
static norn_data data;
static int value;
static int32_t add_1(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    value++;
    return 0;
}
static int32_t parent(norn_self *self, void *arg) {
    norn_token tokens[10];
    (void)self;
    (void)arg;
    value = 100;
    for (int i = 0; i < 10; i++) {
        norn_access access = norn_update(data);
        norn_task task = task_of(add_1, NULL);
        task.flags = NORN_CHILD;
        task.accesses = &access;
        task.access_count = 1;
        tokens[i] = submit(rt, &task);
    }
    CHECK_OK(norn_await_all(rt, tokens, 10, FOREVER));
    CHECK_EQUAL(value, 110);
    value++;
    return 0;
}
static int32_t expect_111(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    CHECK_EQUAL(value, 111);
    return 0;
}

int main(void) {
    rt = open_plain();
    data = DATUM(rt, value);
    for (int i = 0; i < 20; i++) {
        submit_on(rt, parent, NULL, norn_write(data));
        submit_on(rt, expect_111, NULL, norn_read(data));
    }
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
