/* Places reserved in one step may be filled by different tasks, in any order. */
#include "check.h"

enum { PLACES = 50 };
static trace order;
int main(void) {
    norn_runtime *rt = open_plain();
    norn_data chain = pure_name(rt, "chain");
    step steps[PLACES];
    uint64_t slots[PLACES];
    norn_access access = norn_update(chain);
    for (int i = 0; i < PLACES; i++) CHECK_OK(norn_reserve(rt, &access, 1, &slots[i]));
    /* A reverse-mode sweep: last place first. */
    norn_token last = {0};
    for (int i = PLACES - 1; i >= 0; i--) {
        steps[i] = (step){&order, i};
        access.slot = slots[i];
        norn_token token = submit_on(rt, body_step, &steps[i], access);
        if (i == PLACES - 1) last = token;
        if (i > 0) CHECK(!is_done(rt, last));
    }
    CHECK_OK(norn_await(rt, last, FOREVER));
    for (int i = 0; i < PLACES; i++) CHECK_EQUAL(order.ids[i], i);

    /* Readers reserved side by side do not wait for each other. */
    norn_access read = norn_read(chain), write = norn_write(chain);
    uint64_t first, second, third;
    CHECK_OK(norn_reserve(rt, &read, 1, &first));
    CHECK_OK(norn_reserve(rt, &read, 1, &second));
    CHECK_OK(norn_reserve(rt, &write, 1, &third));
    read.slot = second;
    CHECK_OK(norn_await(rt, submit_on(rt, body_nothing, NULL, read), FOREVER));
    write.slot = third;
    norn_token writer = submit_on(rt, body_nothing, NULL, write);
    CHECK_STATUS(norn_await(rt, writer, 20 * MILLISECOND), NORN_E_TIMEOUT);
    read.slot = first;
    submit_on(rt, body_nothing, NULL, read);
    CHECK_OK(norn_await(rt, writer, FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
