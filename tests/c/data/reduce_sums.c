/* REDUCE accesses add into private copies; the next access sees the whole. */
#include "check.h"

enum { TASKS = 1000 };
static int64_t sum, seen;
static norn_runtime *rt;
static norn_data data;
static int numbers[TASKS];

static void zero(void *copy, uint64_t bytes, void *arg) {
    CHECK_EQUAL(bytes, sizeof sum);
    CHECK(arg == &seen);
    memset(copy, 0, bytes);
}
static void add(void *into, const void *from, uint64_t bytes, void *arg) {
    CHECK_EQUAL(bytes, sizeof sum);
    CHECK(arg == &seen);
    *(int64_t *)into += *(const int64_t *)from;
}
static int32_t add_mine(norn_self *self, void *arg) {
    void *copy = NULL;
    uint64_t bytes = 0;
    (void)self;
    CHECK_OK(norn_data_pointer(rt, data, &copy, &bytes));
    CHECK_EQUAL(bytes, sizeof sum);
    *(int64_t *)copy += *(int *)arg;
    return 0;
}
static int32_t look(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    seen = sum;
    return 0;
}

int main(void) {
    rt = open_plain();
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    desc.ptr = &sum;
    desc.bytes = sizeof sum;
    desc.reduce.identity = zero;
    desc.reduce.combine = add;
    desc.reduce.arg = &seen;
    sum = 1000000; /* what was there before counts as well */
    CHECK_OK(norn_data_register(rt, &desc, &data));
    int64_t expected = sum;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < TASKS; i++) {
            numbers[i] = i * i - 1000;
            expected += numbers[i];
            submit_on(rt, add_mine, &numbers[i], norn_reduce_into(data));
        }
        CHECK_OK(norn_await(rt, submit_on(rt, look, NULL, norn_read(data)), FOREVER));
        CHECK_EQUAL(seen, expected);
    }
    /* Nobody reads the last one: drain combines it. */
    for (int i = 0; i < 10; i++) {
        expected += numbers[i];
        submit_on(rt, add_mine, &numbers[i], norn_reduce_into(data));
    }
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(sum, expected);
    submit_on(rt, add_mine, &numbers[1], norn_reduce_into(data));
    CHECK_OK(norn_data_unregister(rt, data));
    CHECK_EQUAL(sum, expected + numbers[1]);

    /* Without a description there is nothing to reduce with. */
    int64_t plain = 0;
    norn_access access = norn_reduce_into(DATUM(rt, plain));
    norn_task task = task_of(body_must_not_run, NULL);
    task.accesses = &access;
    task.access_count = 1;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_INVALID);
    CHECK_OK(norn_close(rt));
    return 0;
}
