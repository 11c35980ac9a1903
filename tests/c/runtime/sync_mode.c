/* Sync mode runs one body at a time, in submission order as far as edges allow, inside norn calls only. */
#include "check.h"

static trace order;
static long opener;
static int32_t body(norn_self *self, void *arg) {
    CHECK_EQUAL(thread_id(), opener);
    return body_step(self, arg);
}

int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    config.mode = NORN_MODE_SYNC;
    norn_runtime *rt = open_with(&config);
    CHECK_EQUAL(stats_of(rt).mode, NORN_MODE_SYNC);
    opener = thread_id();
    step steps[200];
    norn_token gate = promised(rt, "gate");
    for (int i = 0; i < 200; i++) {
        steps[i] = (step){&order, i};
        if (i == 100) submit_after(rt, body, &steps[i], gate); /* the only one that cannot run yet */
        else submit_run(rt, body, &steps[i]);
    }
    CHECK_STATUS(norn_drain(rt, 50 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_EQUAL(order.count, 199);
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(order.count, 200);
    for (int i = 0; i < 200; i++) CHECK_EQUAL(order.ids[i], i < 100 ? i : i < 199 ? i + 1 : 100);
    CHECK_OK(norn_close(rt));
    return 0;
}
