/* A task submitted held runs only after norn_start, and takes predecessors until then. */
#include "check.h"

static trace order;

int main(void) {
    norn_runtime *rt = open_plain();
    step first = {&order, 1}, second = {&order, 2};
    norn_token gate = promised(rt, "gate");
    norn_token before = submit_after(rt, body_step, &first, gate);

    norn_task task = task_of(body_step, &second);
    task.flags = NORN_HELD;
    norn_token held = submit(rt, &task);
    CHECK_STATUS(norn_await(rt, held, 20 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_OK(norn_edge(rt, before, held));
    CHECK_OK(norn_start(rt, held));
    CHECK_STATUS(norn_start(rt, held), NORN_E_STATE);
    CHECK_STATUS(norn_await(rt, held, 20 * MILLISECOND), NORN_E_TIMEOUT);

    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_await(rt, held, FOREVER));
    CHECK_EQUAL(order.count, 2);
    CHECK_EQUAL(order.ids[1], 2);
    CHECK_STATUS(norn_start(rt, held), NORN_E_STATE);

    /* Not held at all. */
    norn_token gate2 = promised(rt, "gate2");
    norn_token plain = submit_after(rt, body_nothing, NULL, gate2);
    CHECK_STATUS(norn_start(rt, plain), NORN_E_STATE);
    CHECK_OK(norn_fulfill(rt, gate2));

    /* Held and declared first. */
    norn_token as = declared(rt, "as");
    task.as = as;
    submit(rt, &task);
    CHECK_STATUS(norn_await(rt, as, 10 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_OK(norn_start(rt, as));
    CHECK_OK(norn_await(rt, as, FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
