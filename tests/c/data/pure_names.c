/* A datum without memory orders tasks by its name alone. */
#include "check.h"

static trace order;
int main(void) {
    norn_runtime *rt = open_plain();
    norn_data names[3] = {pure_name(rt, "a"), pure_name(rt, "b"), pure_name(rt, NULL)};
    norn_token gate = promised(rt, "gate");
    step steps[30];
    for (int i = 0; i < 30; i++) {
        steps[i] = (step){&order, i};
        norn_access both[2] = {norn_update(names[i % 3]), norn_write(names[(i + 1) % 3])};
        norn_task task = task_of(body_step, &steps[i]);
        task.accesses = both;
        task.access_count = 2;
        task.after = &gate;
        task.after_count = 1;
        submit(rt, &task); /* each shares a name with the one before */
    }
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(order.count, 30);
    for (int i = 0; i < 30; i++) CHECK_EQUAL(order.ids[i], i);
    CHECK_EQUAL(stats_of(rt).data, 3);
    for (int i = 0; i < 3; i++) CHECK_OK(norn_data_unregister(rt, names[i]));
    CHECK_EQUAL(stats_of(rt).data, 0);
    CHECK_OK(norn_close(rt));
    return 0;
}
