/* With NORN_DETERMINISTIC the COMMUTE accesses run in submission order. */
#include "check.h"

static trace order;
int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    config.flags = NORN_DETERMINISTIC;
    norn_runtime *rt = open_with(&config);
    norn_data data = pure_name(rt, "d");
    norn_token gate = promised(rt, "gate");
    step steps[500];
    norn_token last = {0};
    for (int i = 0; i < 500; i++) {
        steps[i] = (step){&order, i};
        norn_task task = task_of(body_step, &steps[i]);
        norn_access access = norn_commute(data);
        task.accesses = &access;
        task.access_count = 1;
        task.priority = i % 7; /* no priority overrides an order */
        if (i % 100 == 0) {
            task.after = &gate;
            task.after_count = 1;
        }
        last = submit(rt, &task);
    }
    CHECK_STATUS(norn_await(rt, last, 20 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_EQUAL(order.count, 0);
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(order.count, 500);
    for (int i = 0; i < 500; i++) CHECK_EQUAL(order.ids[i], i);
    CHECK_OK(norn_close(rt));
    return 0;
}
