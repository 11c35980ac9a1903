/* A task that lists a datum several times has the strongest of the modes, whatever their order. */
#include "check.h"

static int64_t value;
static int32_t twice_plus_one(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    const int64_t old = *(volatile int64_t *)&value;
    sleep_ms(1);
    *(volatile int64_t *)&value = 2 * old + 1;
    return 0;
}
static norn_token list(norn_runtime *rt, norn_task_fn run, norn_data data, int count, const int32_t *modes) {
    norn_access accesses[8];
    norn_task task = task_of(run, NULL);
    for (int i = 0; i < count; i++) accesses[i] = norn_access_of(data, modes[i]);
    task.accesses = accesses;
    task.access_count = (uint64_t)count;
    return submit(rt, &task);
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data data = DATUM(rt, value);
    const int32_t orders[2][2] = {{NORN_READ, NORN_READ_WRITE}, {NORN_READ_WRITE, NORN_READ}};
    int64_t expected = 0;
    for (int round = 0; round < 5; round++)
        for (int first = 0; first < 2; first++)
            for (int second = 0; second < 2; second++) {
                list(rt, twice_plus_one, data, 2, orders[first]);
                list(rt, twice_plus_one, data, 2, orders[second]);
                expected = 2 * (2 * expected + 1) + 1;
            }
    /* READ and WRITE together are a READ_WRITE: the old value is needed. */
    const int32_t read_and_write[3] = {NORN_WRITE, NORN_READ, NORN_WRITE};
    list(rt, twice_plus_one, data, 3, read_and_write);
    expected = 2 * expected + 1;
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(value, expected);

    /* So it does not heal a failed datum either. */
    norn_token bad = submit_on(rt, body_fail, NULL, norn_write(data));
    CHECK_STATUS(norn_await(rt, list(rt, body_must_not_run, data, 3, read_and_write), FOREVER), NORN_E_PROPAGATED);
    CHECK_STATUS(norn_await(rt, bad, FOREVER), NORN_E_TASK_FAILED);
    CHECK_OK(norn_await(rt, submit_on(rt, body_nothing, NULL, norn_write(data)), FOREVER));

    /* Three reads make one edge. */
    const int32_t reads[3] = {NORN_READ, NORN_READ, NORN_READ};
    norn_token gate = promised(rt, "gate");
    submit_on_after(rt, body_nothing, NULL, norn_write(data), gate);
    const uint64_t edges = stats_of(rt).edges;
    list(rt, body_nothing, data, 3, reads);
    CHECK_EQUAL(stats_of(rt).edges - edges, 1);
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_close(rt));
    return 0;
}
