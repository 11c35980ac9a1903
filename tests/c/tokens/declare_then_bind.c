/* A declared token may be used as a predecessor before any task stands behind it. */
#include "check.h"

static trace order;

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token producer = declared(rt, "producer");
    step first = {&order, 1}, second = {&order, 2};

    norn_token consumer = submit_after(rt, body_step, &second, producer);
    CHECK_STATUS(norn_await(rt, consumer, 20 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK(!is_done(rt, producer));
    CHECK(!is_done(rt, consumer));

    norn_task task = task_of(body_step, &first);
    task.as = producer;
    norn_token bound = submit(rt, &task);
    CHECK(bound.id == producer.id);

    CHECK_OK(norn_await(rt, consumer, FOREVER));
    CHECK(is_done(rt, producer));
    CHECK_EQUAL(order.count, 2);
    CHECK_EQUAL(order.ids[0], 1);
    CHECK_EQUAL(order.ids[1], 2);
    CHECK_OK(norn_close(rt));
    return 0;
}
