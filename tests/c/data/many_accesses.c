/* A task may name hundreds of data. */
#include "check.h"

enum { DATA = 700 };
static int values[DATA];
static int32_t set_all(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    for (int i = 0; i < DATA; i++) values[i] = values[i] + i;
    return 0;
}
static int32_t negate(norn_self *self, void *arg) {
    (void)self;
    *(int *)arg = -*(int *)arg;
    return 0;
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data data[DATA];
    norn_access accesses[DATA];
    for (int i = 0; i < DATA; i++) {
        data[i] = DATUM(rt, values[i]);
        accesses[i] = norn_update(data[i]);
    }
    for (int round = 0; round < 3; round++) {
        norn_task task = task_of(set_all, NULL);
        task.accesses = accesses;
        task.access_count = DATA;
        submit(rt, &task);
        for (int i = 0; i < DATA; i++) submit_on(rt, negate, &values[i], norn_update(data[i]));
    }
    CHECK_OK(norn_drain(rt, FOREVER));
    for (int i = 0; i < DATA; i++) CHECK_EQUAL(values[i], -i); /* -(-(-(0+i)+i)+i) */
    CHECK_OK(norn_close(rt));
    return 0;
}
