/* Readers of an unwritten datum may be declared before its first writer. */
#include "check.h"

static int value = -1;
static int32_t write_4(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    value = 4;
    return 0;
}
static int32_t expect(norn_self *self, void *arg) {
    (void)self;
    CHECK_EQUAL(value, *(int *)arg);
    return 0;
}
static int32_t add_1(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    value++;
    return 0;
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data data;
    int four = 4, five = 5;
    desc.ptr = &value;
    desc.bytes = sizeof value;
    desc.flags = NORN_UNWRITTEN;
    CHECK_OK(norn_data_register(rt, &desc, &data));
    norn_token readers[5];
    for (int i = 0; i < 5; i++) readers[i] = submit_on(rt, expect, &four, norn_read(data));
    CHECK_STATUS(norn_await_all(rt, readers, 5, 20 * MILLISECOND), NORN_E_TIMEOUT);
    for (int i = 0; i < 5; i++) CHECK(!is_done(rt, readers[i]));
    submit_on(rt, write_4, NULL, norn_write(data));
    CHECK_OK(norn_await_all(rt, readers, 5, FOREVER));
    /* From then on a datum like any other. */
    submit_on(rt, add_1, NULL, norn_update(data));
    CHECK_OK(norn_await(rt, submit_on(rt, expect, &five, norn_read(data)), FOREVER));
    CHECK_OK(norn_data_unregister(rt, data));

    /* The writer may also come first. */
    value = -1;
    CHECK_OK(norn_data_register(rt, &desc, &data));
    submit_on(rt, write_4, NULL, norn_write(data));
    CHECK_OK(norn_await(rt, submit_on(rt, expect, &four, norn_read(data)), FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
