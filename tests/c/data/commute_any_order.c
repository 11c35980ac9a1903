/* A COMMUTE access that is not ready does not hold up a later one. */
#include "check.h"

static trace order;
int main(void) {
    norn_runtime *rt = open_plain();
    norn_data data = pure_name(rt, "d");
    norn_token gate = promised(rt, "gate");
    step first = {&order, 1}, second = {&order, 2}, third = {&order, 3};
    norn_token a = submit_on_after(rt, body_step, &first, norn_commute(data), gate);
    norn_token b = submit_on(rt, body_step, &second, norn_commute(data));
    norn_token c = submit_on(rt, body_step, &third, norn_read(data));
    CHECK_OK(norn_await(rt, b, FOREVER));
    CHECK_STATUS(norn_await(rt, c, 20 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK(!is_done(rt, a));
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_await(rt, c, FOREVER));
    CHECK_EQUAL(order.ids[0], 2);
    CHECK_EQUAL(order.ids[1], 1);
    CHECK_EQUAL(order.ids[2], 3);
    CHECK_OK(norn_close(rt));
    return 0;
}
