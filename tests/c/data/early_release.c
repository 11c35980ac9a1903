/* A body may end one access early; later tasks use the datum while it still runs. */
#include "check.h"

static norn_runtime *rt;
static norn_data first, second, foreign;
static int first_value, second_value, foreign_value;
static norn_token reader_of_first, reader_of_second;

static int32_t body(norn_self *self, void *arg) {
    (void)arg;
    first_value = 3;
    /* While it is held, waiting for the reader would be waiting for ourselves. */
    CHECK_STATUS(norn_await(rt, reader_of_first, FOREVER), NORN_E_WOULD_DEADLOCK);
    CHECK_OK(norn_self_release(self, first));
    CHECK_OK(norn_await(rt, reader_of_first, FOREVER));
    CHECK_STATUS(norn_self_release(self, first), NORN_E_STATE);
    CHECK_STATUS(norn_self_release(self, foreign), NORN_E_INVALID);
    CHECK(!is_done(rt, reader_of_second));
    second_value = 4;
    return 0;
}
static int32_t expect(norn_self *self, void *arg) {
    (void)self;
    CHECK_EQUAL(*(int *)arg, arg == &first_value ? 3 : 4);
    return 0;
}

int main(void) {
    rt = open_plain();
    first = DATUM(rt, first_value);
    second = DATUM(rt, second_value);
    foreign = DATUM(rt, foreign_value);
    norn_token gate = promised(rt, "gate");
    norn_access both[2] = {norn_write(first), norn_write(second)};
    norn_task task = task_of(body, NULL);
    task.accesses = both;
    task.access_count = 2;
    task.after = &gate;
    task.after_count = 1;
    norn_token token = submit(rt, &task);
    reader_of_first = submit_on(rt, expect, &first_value, norn_read(first));
    reader_of_second = submit_on(rt, expect, &second_value, norn_read(second));
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_await(rt, token, FOREVER));
    CHECK_OK(norn_await(rt, reader_of_second, FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
