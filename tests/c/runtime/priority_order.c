/* Among ready tasks a higher priority runs earlier, out-of-range values count as the nearest. */
#include "check.h"

static trace order;
int main(void) {
    norn_runtime *rt = open_workers(0); /* nothing runs before all are there */
    const int32_t priorities[] = {5, -3, 0, INT32_MAX, 7, INT32_MIN, 1, 32766, -32767};
    const int expected[] = {INT32_MAX, 32766, 7, 5, 1, 0, -3, -32767, INT32_MIN};
    step steps[COUNT_OF(priorities)];
    for (size_t i = 0; i < COUNT_OF(priorities); i++) {
        steps[i] = (step){&order, priorities[i]};
        norn_task task = task_of(body_step, &steps[i]);
        task.priority = priorities[i];
        submit(rt, &task);
    }
    CHECK_OK(norn_drain(rt, FOREVER));
    for (size_t i = 0; i < COUNT_OF(priorities); i++) CHECK_EQUAL(order.ids[i], expected[i]);
    CHECK_OK(norn_close(rt));
    return 0;
}
