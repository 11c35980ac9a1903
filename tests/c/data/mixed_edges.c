/* Explicit predecessors and data accesses hold together. */
#include "check.h"

static trace order;
int main(void) {
    norn_runtime *rt = open_plain();
    norn_data data = pure_name(rt, "d");
    norn_token gate = promised(rt, "gate");
    step steps[5];
    for (int i = 0; i < 5; i++) steps[i] = (step){&order, i};
    norn_token other = submit_after(rt, body_step, &steps[1], gate);
    norn_token writer = submit_on(rt, body_step, &steps[0], norn_write(data));
    CHECK_OK(norn_await(rt, writer, FOREVER)); /* step 0 first, so the order is one only */
    norn_token reader = submit_on_after(rt, body_step, &steps[2], norn_read(data), other);
    norn_token updater = submit_on(rt, body_step, &steps[3], norn_update(data));
    submit_on_after(rt, body_step, &steps[4], norn_read(data), reader); /* implied already by the updater */
    CHECK_STATUS(norn_await(rt, updater, 20 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(order.count, 5);
    for (int i = 0; i < 5; i++) CHECK_EQUAL(order.ids[i], i);
    CHECK_OK(norn_close(rt));
    return 0;
}
