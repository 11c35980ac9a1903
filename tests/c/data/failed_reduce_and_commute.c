/* A REDUCE or COMMUTE access that fails fails the datum; a WRITE heals it. */
#include "check.h"

static int64_t value;
static void zero(void *copy, uint64_t bytes, void *arg) {
    (void)arg;
    memset(copy, 0, bytes);
}
static void add(void *into, const void *from, uint64_t bytes, void *arg) {
    (void)bytes;
    (void)arg;
    *(int64_t *)into += *(const int64_t *)from;
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data data;
    desc.ptr = &value;
    desc.bytes = sizeof value;
    desc.reduce.identity = zero;
    desc.reduce.combine = add;
    CHECK_OK(norn_data_register(rt, &desc, &data));
    for (int commute = 0; commute < 2; commute++) {
        norn_access access = commute ? norn_commute(data) : norn_reduce_into(data);
        norn_token gate = promised(rt, "gate");
        submit_on(rt, body_nothing, NULL, access);
        norn_token failed = submit_on_after(rt, body_fail, NULL, access, gate);
        norn_token reader = submit_on(rt, body_must_not_run, NULL, norn_read(data));
        norn_token healer = submit_on(rt, body_nothing, NULL, norn_write(data));
        norn_token healed = submit_on(rt, body_nothing, NULL, norn_read(data));
        CHECK_OK(norn_fulfill(rt, gate));
        CHECK_STATUS(norn_await(rt, failed, FOREVER), NORN_E_TASK_FAILED);
        CHECK_STATUS(norn_await(rt, reader, FOREVER), NORN_E_PROPAGATED);
        CHECK(record_of(rt, reader).cause.id == failed.id);
        CHECK_OK(norn_await(rt, healer, FOREVER));
        CHECK_OK(norn_await(rt, healed, FOREVER));
    }
    CHECK_OK(norn_data_unregister(rt, data));
    CHECK_OK(norn_close(rt));
    return 0;
}
