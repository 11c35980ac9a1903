/* A place that is given up lets those behind it go on as if it had never been taken. */
#include "check.h"

static int value;
static int32_t expect_0(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    CHECK_EQUAL(value, 0);
    return 0;
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data data = DATUM(rt, value);
    norn_access access = norn_write(data);
    uint64_t slot = 0, other = 0;
    CHECK_OK(norn_reserve(rt, &access, 1, &slot));
    norn_token reader = submit_on(rt, expect_0, NULL, norn_read(data));
    norn_token writer = submit_on(rt, body_nothing, NULL, norn_update(data));
    CHECK_STATUS(norn_await(rt, reader, 20 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_OK(norn_reserve_abandon(rt, slot));
    CHECK_OK(norn_await(rt, reader, FOREVER));
    CHECK_OK(norn_await(rt, writer, FOREVER));
    CHECK_STATUS(norn_reserve_abandon(rt, slot), NORN_E_STATE);
    CHECK_STATUS(norn_reserve_abandon(rt, 0), NORN_E_INVALID);
    CHECK_STATUS(norn_reserve_abandon(rt, UINT64_MAX), NORN_E_INVALID);
    access.slot = slot;
    norn_task task = task_of(body_must_not_run, NULL);
    task.accesses = &access;
    task.access_count = 1;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_STATE);

    /* What cannot be reserved. */
    access.slot = 0;
    norn_access twice[2] = {access, norn_read(data)};
    uint64_t slots[2] = {1, 2};
    CHECK_STATUS(norn_reserve(rt, twice, 2, slots), NORN_E_INVALID);
    access.mode = NORN_REDUCE;
    CHECK_STATUS(norn_reserve(rt, &access, 1, slots), NORN_E_INVALID);
    CHECK_EQUAL(slots[0], 1);
    CHECK_EQUAL(slots[1], 2);

    /* Left open until the close: those behind fail, nothing hangs. */
    access.mode = NORN_WRITE;
    CHECK_OK(norn_reserve(rt, &access, 1, &other));
    submit_on(rt, body_must_not_run, NULL, norn_read(data));
    norn_close(rt);
    return 0;
}
