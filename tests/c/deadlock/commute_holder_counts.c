/* A body that waits for a task which needs the COMMUTE datum it holds is told, not left hanging. */
#include "check.h"

static norn_runtime *rt;
static norn_data data;
static norn_token other;
static int32_t holder(norn_self *self, void *arg) {
    (void)arg;
    CHECK_STATUS(norn_await(rt, other, FOREVER), NORN_E_WOULD_DEADLOCK);
    CHECK_OK(norn_self_release(self, data));
    CHECK_OK(norn_await(rt, other, FOREVER));
    return 0;
}

int main(void) {
    rt = open_plain();
    data = pure_name(rt, "d");
    norn_token gate = promised(rt, "gate"), second_gate = promised(rt, "second gate");
    norn_token token = submit_on_after(rt, holder, NULL, norn_commute(data), gate);
    other = submit_on_after(rt, body_nothing, NULL, norn_commute(data), second_gate);
    CHECK_OK(norn_fulfill(rt, gate));
    sleep_ms(20);
    CHECK_STATUS(norn_await(rt, token, 50 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_OK(norn_fulfill(rt, second_gate));
    CHECK_OK(norn_await(rt, token, FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
