/* A reader that fails leaves the datum good. */
#include "check.h"

static int value;
static int32_t write_3(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    value = 3;
    return 0;
}
static int32_t add_1(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    value += 1;
    return 0;
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data data = DATUM(rt, value);
    norn_token gate = promised(rt, "gate");
    submit_on_after(rt, write_3, NULL, norn_write(data), gate);
    norn_token reader = submit_on(rt, body_fail, NULL, norn_read(data));
    norn_token other = submit_on(rt, body_nothing, NULL, norn_read(data));
    norn_token updater = submit_on(rt, add_1, NULL, norn_update(data));
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_STATUS(norn_await(rt, reader, FOREVER), NORN_E_TASK_FAILED);
    CHECK_OK(norn_await(rt, other, FOREVER));
    CHECK_OK(norn_await(rt, updater, FOREVER));
    CHECK_EQUAL(value, 4);
    CHECK_OK(norn_close(rt));
    return 0;
}
