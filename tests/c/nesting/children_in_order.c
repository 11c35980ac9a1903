/* Children are ordered among themselves inside the parent's access, before all that comes after the parent. */
#include "check.h"

enum { CHILDREN = 100 };
static norn_runtime *rt;
static norn_data data;
static trace order;
static step steps[CHILDREN + 2];

static int32_t parent(norn_self *self, void *arg) {
    (void)arg;
    for (int i = 0; i < CHILDREN; i++) {
        norn_access access = norn_update(data);
        norn_task task = task_of(body_step, &steps[i]);
        task.flags = NORN_CHILD;
        task.accesses = &access;
        task.access_count = 1;
        submit(rt, &task);
    }
    (void)self;
    return 0;
}

int main(void) {
    rt = open_plain();
    data = pure_name(rt, "d");
    for (int i = 0; i < CHILDREN + 2; i++) steps[i] = (step){&order, i};
    norn_token gate = promised(rt, "gate");
    norn_token token = submit_on_after(rt, parent, NULL, norn_update(data), gate);
    norn_token by_data = submit_on(rt, body_step, &steps[CHILDREN], norn_read(data));
    norn_token by_token = submit_on_after(rt, body_step, &steps[CHILDREN + 1], norn_update(data), token);
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_await(rt, by_token, FOREVER));
    CHECK(is_done(rt, by_data));
    CHECK_EQUAL(order.count, CHILDREN + 2);
    for (int i = 0; i < CHILDREN + 2; i++) CHECK_EQUAL(order.ids[i], i);
    CHECK_OK(norn_close(rt));
    return 0;
}
