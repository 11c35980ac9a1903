/* Tasks that commute on several data exclude each other on all of them and never lock up. */
#include "check.h"

enum { DATA = 5, TASKS = 3000 };
static int values[DATA];
static atomic_int inside[DATA];
static int pairs[TASKS][2];
static int32_t body(norn_self *self, void *arg) {
    const int *pair = arg;
    (void)self;
    for (int i = 0; i < 2; i++) CHECK_EQUAL(atomic_fetch_add(&inside[pair[i]], 1), 0);
    for (int i = 0; i < 2; i++) values[pair[i]]++;
    for (int i = 0; i < 2; i++) atomic_fetch_sub(&inside[pair[i]], 1);
    return 0;
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data data[DATA];
    int expected[DATA] = {0};
    for (int i = 0; i < DATA; i++) data[i] = DATUM(rt, values[i]);
    for (int i = 0; i < TASKS; i++) {
        pairs[i][0] = (i * 7 + i / 3) % DATA;
        pairs[i][1] = (pairs[i][0] + 1 + i % (DATA - 1)) % DATA;
        norn_access accesses[2] = {norn_commute(data[pairs[i][0]]), norn_commute(data[pairs[i][1]])};
        norn_task task = task_of(body, pairs[i]);
        task.accesses = accesses;
        task.access_count = 2;
        submit(rt, &task);
        expected[pairs[i][0]]++;
        expected[pairs[i][1]]++;
    }
    CHECK_OK(norn_drain(rt, FOREVER));
    for (int i = 0; i < DATA; i++) CHECK_EQUAL(values[i], expected[i]);
    CHECK_OK(norn_close(rt));
    return 0;
}
