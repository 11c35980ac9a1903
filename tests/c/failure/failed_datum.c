/* A datum whose writer failed is failed until a WRITE overwrites it. */
#include "check.h"

static int value;
static norn_runtime *rt;
static norn_data data;

static int32_t write_5(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    value = 5;
    return 0;
}
static int32_t expect_5(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    CHECK_EQUAL(value, 5);
    return 0;
}

int main(void) {
    rt = open_plain();
    data = DATUM(rt, value);
    for (int late = 0; late < 2; late++) { /* everything submitted before the failure, then after it */
        norn_token gate = promised(rt, "gate");
        if (late) CHECK_OK(norn_fulfill(rt, gate));
        norn_token writer = submit_on_after(rt, body_fail, NULL, norn_write(data), gate);
        if (late) CHECK_STATUS(norn_await(rt, writer, FOREVER), NORN_E_TASK_FAILED);
        norn_token reader = submit_on(rt, body_must_not_run, "reader", norn_read(data));
        norn_token updater = submit_on(rt, body_must_not_run, "updater", norn_update(data));
        norn_token commuter = submit_on(rt, body_must_not_run, "commuter", norn_commute(data));
        norn_token second_reader = submit_on(rt, body_must_not_run, "reader after updater", norn_read(data));
        norn_token healer = submit_on(rt, write_5, NULL, norn_write(data));
        norn_token healed = submit_on(rt, expect_5, NULL, norn_read(data));
        norn_token healed_update = submit_on(rt, expect_5, NULL, norn_update(data));
        if (!late) CHECK_OK(norn_fulfill(rt, gate));

        CHECK_STATUS(norn_await(rt, writer, FOREVER), NORN_E_TASK_FAILED);
        norn_token propagated[] = {reader, updater, commuter, second_reader};
        for (size_t i = 0; i < COUNT_OF(propagated); i++) {
            CHECK_STATUS(norn_await(rt, propagated[i], FOREVER), NORN_E_PROPAGATED);
            CHECK(record_of(rt, propagated[i]).cause.id == writer.id);
        }
        CHECK_OK(norn_await(rt, healer, FOREVER));
        CHECK_OK(norn_await(rt, healed, FOREVER));
        CHECK_OK(norn_await(rt, healed_update, FOREVER));
        value = 0;
    }

    /* A write that did not run, or failed itself, heals nothing: the cause is the newer one. */
    norn_token first = submit_on(rt, body_fail, NULL, norn_write(data));
    norn_token second = submit_on(rt, body_fail, NULL, norn_write(data));
    norn_token reader = submit_on(rt, body_must_not_run, NULL, norn_read(data));
    CHECK_STATUS(norn_await(rt, reader, FOREVER), NORN_E_PROPAGATED);
    CHECK(record_of(rt, reader).cause.id == second.id);
    CHECK_STATUS(norn_await(rt, first, FOREVER), NORN_E_TASK_FAILED);
    CHECK_STATUS(norn_await(rt, second, FOREVER), NORN_E_TASK_FAILED);

    /* An explicit edge from a failed task counts, WRITE or not. */
    norn_token blocked = submit_on_after(rt, body_must_not_run, NULL, norn_write(data), first);
    CHECK_STATUS(norn_await(rt, blocked, FOREVER), NORN_E_PROPAGATED);

    /* Unregistering a failed datum is in order. */
    CHECK_OK(norn_data_unregister(rt, data));
    CHECK_OK(norn_close(rt));
    return 0;
}
