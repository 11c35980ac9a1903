/* A body that waits for a task that waits for it is told NORN_E_WOULD_DEADLOCK, whatever lies between. */
#include "check.h"

static norn_runtime *rt;
static norn_token next, far, by_data;

static int32_t body(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    CHECK_STATUS(norn_await(rt, next, FOREVER), NORN_E_WOULD_DEADLOCK);
    CHECK_STATUS(norn_await(rt, far, FOREVER), NORN_E_WOULD_DEADLOCK);
    CHECK_STATUS(norn_await(rt, by_data, FOREVER), NORN_E_WOULD_DEADLOCK);
    /* A look is not a wait, but it is not done either. */
    CHECK_ERROR(norn_await(rt, next, 0));
    return 0;
}

int main(void) {
    rt = open_plain();
    int value = 0;
    norn_data data = DATUM(rt, value);
    norn_token gate = promised(rt, "gate");
    norn_token first = submit_on_after(rt, body, NULL, norn_update(data), gate);
    next = submit_after(rt, body_nothing, NULL, first);
    norn_token middle = next;
    for (int i = 0; i < 50; i++) middle = submit_after(rt, body_nothing, NULL, middle);
    far = submit_after(rt, body_nothing, NULL, middle);
    by_data = submit_on(rt, body_nothing, NULL, norn_read(data));
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_await(rt, first, FOREVER));
    CHECK_OK(norn_await(rt, far, FOREVER));
    CHECK_OK(norn_await(rt, by_data, FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
