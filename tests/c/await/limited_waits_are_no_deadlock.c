/* Two bodies that wait for each other with a limit run into the limit, not into a deadlock report. */
#include "check.h"

static norn_runtime *rt;
static norn_token tokens[2];

static int32_t body(norn_self *self, void *arg) {
    (void)self;
    norn_status status = norn_await(rt, tokens[1 - *(int *)arg], 50 * MILLISECOND);
    CHECK(status == NORN_E_TIMEOUT || status == NORN_OK); /* the second may see the first end */
    return 0;
}

int main(void) {
    rt = open_plain();
    int numbers[2] = {0, 1};
    norn_token gate = promised(rt, "gate");
    for (int i = 0; i < 2; i++) tokens[i] = submit_after(rt, body, &numbers[i], gate);
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_await_all(rt, tokens, 2, FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
