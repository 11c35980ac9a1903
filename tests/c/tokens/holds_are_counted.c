/* Holds add up, come off in parts, and never go below zero. */
#include "check.h"

static norn_self *escaped;
static atomic_int holding;

static int32_t hold_five(norn_self *self, void *arg) {
    (void)arg;
    escaped = self;
    CHECK_STATUS(norn_self_hold(self, 0), NORN_E_INVALID);
    CHECK_STATUS(norn_self_hold(self, UINT32_MAX), NORN_E_INVALID);
    CHECK_OK(norn_self_hold(self, 2));
    CHECK_OK(norn_self_hold(self, 3));
    atomic_store(&holding, 1);
    return 0;
}

static int32_t hold_and_fail(norn_self *self, void *arg) {
    (void)arg;
    CHECK_OK(norn_self_hold(self, 1));
    atomic_store(&holding, 2);
    return 9;
}

int main(void) {
    norn_runtime *rt = open_plain();
    int value = 0;
    norn_data data = DATUM(rt, value);
    norn_token held = submit_on(rt, hold_five, NULL, norn_write(data));
    norn_token reader = submit_on(rt, body_nothing, NULL, norn_read(data));
    PROGRESS_UNTIL(rt, holding == 1);
    CHECK_STATUS(norn_await(rt, held, 20 * MILLISECOND), NORN_E_TIMEOUT);

    CHECK_STATUS(norn_unhold(rt, held, 6), NORN_E_STATE);
    CHECK_OK(norn_unhold(rt, held, 4));
    CHECK(!is_done(rt, held));
    /* A hold keeps the accesses too: the datum is still the holder's. */
    CHECK_STATUS(norn_await(rt, reader, 20 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_STATUS(norn_unhold(rt, held, 2), NORN_E_STATE);
    CHECK_OK(norn_unhold(rt, held, 1));
    CHECK_OK(norn_await(rt, reader, FOREVER));
    CHECK(is_done(rt, held));
    CHECK_STATUS(norn_unhold(rt, held, 1), NORN_E_STATE);

    /* The body is over: its handle is of no use to anybody. */
    CHECK_ERROR(norn_self_hold(escaped, 1));

    /* A failing body waits for its holds as well. */
    norn_token failing = submit_run(rt, hold_and_fail, NULL);
    PROGRESS_UNTIL(rt, holding == 2);
    CHECK_STATUS(norn_await(rt, failing, 20 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_OK(norn_unhold(rt, failing, 1));
    CHECK_STATUS(norn_await(rt, failing, FOREVER), NORN_E_TASK_FAILED);
    CHECK_OK(norn_close(rt));
    return 0;
}
