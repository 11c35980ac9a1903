/* An application thread may hold data as a task would; tasks around it keep their order. */
#include "check.h"

static int value;
static int32_t set_1(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    sleep_ms(5);
    value = 1;
    return 0;
}
static int32_t expect_2(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    CHECK_EQUAL(value, 2);
    return 0;
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data data = DATUM(rt, value), name = pure_name(rt, "name");
    norn_access accesses[2] = {norn_update(data), norn_read(name)};
    norn_token hold, other, never;
    submit_on(rt, set_1, NULL, norn_write(data));
    CHECK_OK(norn_data_acquire(rt, accesses, 2, FOREVER, &hold));
    CHECK_EQUAL(value, 1);
    value = 2;
    norn_token reader = submit_on(rt, expect_2, NULL, norn_read(data));
    CHECK_STATUS(norn_await(rt, reader, 20 * MILLISECOND), NORN_E_TIMEOUT);

    /* Two readers hold at the same time. */
    norn_access read_name = norn_read(name), write_name = norn_write(name);
    CHECK_OK(norn_data_acquire(rt, &read_name, 1, FOREVER, &other));
    CHECK_OK(norn_data_release(rt, other));
    CHECK_STATUS(norn_data_release(rt, other), NORN_E_STATE);

    /* A limit: the place is given up, and those behind it are not in its way. */
    never.id = 4;
    CHECK_STATUS(norn_data_acquire(rt, &write_name, 1, 0, &never), NORN_E_TIMEOUT);
    CHECK_STATUS(norn_data_acquire(rt, &write_name, 1, 20 * MILLISECOND, &never), NORN_E_TIMEOUT);
    CHECK_EQUAL(never.id, 4);
    CHECK_OK(norn_await(rt, submit_on(rt, body_nothing, NULL, norn_read(name)), FOREVER));

    CHECK_OK(norn_data_release(rt, hold));
    CHECK_OK(norn_await(rt, reader, FOREVER));
    CHECK_OK(norn_data_acquire(rt, &write_name, 1, FOREVER, &hold));
    CHECK_OK(norn_data_release(rt, hold));

    /* What is no hold, and what cannot be held. */
    CHECK_ERROR(norn_data_release(rt, reader));
    norn_access bad = norn_reduce_into(data);
    CHECK_STATUS(norn_data_acquire(rt, &bad, 1, FOREVER, &hold), NORN_E_INVALID);

    /* A failed datum is not handed out, but may be overwritten. */
    norn_token failed = submit_on(rt, body_fail, NULL, norn_write(data));
    CHECK_STATUS(norn_data_acquire(rt, accesses, 2, FOREVER, &hold), NORN_E_PROPAGATED);
    CHECK_STATUS(norn_await(rt, failed, FOREVER), NORN_E_TASK_FAILED);
    norn_access overwrite = norn_write(data);
    CHECK_OK(norn_data_acquire(rt, &overwrite, 1, FOREVER, &hold));
    value = 2;
    CHECK_OK(norn_data_release(rt, hold));
    CHECK_OK(norn_await(rt, submit_on(rt, expect_2, NULL, norn_read(data)), FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
