/* Two bodies that each await a task which needs the other's datum: one is told, then both go on. */
#include "check.h"

static norn_runtime *rt;
static norn_data data[2];
static norn_token on_both[2];
static atomic_int told, ended;
static int32_t holder(norn_self *self, void *arg) {
    norn_status status = norn_await(rt, on_both[*(int *)arg], FOREVER);
    if (status != NORN_OK) {
        CHECK(status == NORN_E_DEADLOCK || status == NORN_E_WOULD_DEADLOCK);
        atomic_fetch_add(&told, 1);
        CHECK_OK(norn_self_release(self, data[*(int *)arg])); /* the way out */
    }
    atomic_fetch_add(&ended, 1);
    return 0;
}

int main(void) {
    rt = open_plain();
    int numbers[2] = {0, 1};
    for (int i = 0; i < 2; i++) data[i] = pure_name(rt, i ? "right" : "left");
    for (int round = 1; round <= 10; round++) {
        norn_token gate = promised(rt, "gate"), holders[2];
        for (int i = 0; i < 2; i++) holders[i] = submit_on_after(rt, holder, &numbers[i], norn_update(data[i]), gate);
        /* Holder i waits for a task on the datum of the other holder. */
        for (int i = 0; i < 2; i++) on_both[i] = submit_on(rt, body_nothing, NULL, norn_update(data[1 - i]));
        CHECK_OK(norn_fulfill(rt, gate));
        CHECK_OK(norn_await_all(rt, holders, 2, FOREVER));
        CHECK_OK(norn_await_all(rt, on_both, 2, FOREVER));
        CHECK_EQUAL(ended, 2 * round);
        CHECK_EQUAL(told, round);
    }
    CHECK_OK(norn_close(rt));
    return 0;
}
