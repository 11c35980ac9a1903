/* Awaiting a task on the parent's datum while the parent holds it is refused at the call. */
#include "check.h"

static norn_runtime *rt;
static norn_data data;
static int value;
static norn_token inner;

static int32_t parent(norn_self *self, void *arg) {
    (void)arg;
    inner = submit_on(rt, body_nothing, NULL, norn_read(data));
    CHECK_STATUS(norn_await(rt, inner, FOREVER), NORN_E_WOULD_DEADLOCK);
    CHECK_STATUS(norn_await_all(rt, &inner, 1, FOREVER), NORN_E_WOULD_DEADLOCK);
    norn_token behind = submit_after(rt, body_nothing, NULL, inner);
    CHECK_STATUS(norn_await(rt, behind, FOREVER), NORN_E_WOULD_DEADLOCK);
    /* Once the datum is released, waiting is fine. */
    CHECK_OK(norn_self_release(self, data));
    CHECK_OK(norn_await(rt, behind, FOREVER));
    CHECK(is_done(rt, inner));
    return 0;
}

int main(void) {
    rt = open_plain();
    data = DATUM(rt, value);
    CHECK_OK(norn_await(rt, submit_on(rt, parent, NULL, norn_update(data)), FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
