/* A body with cpus = n holds n workers while it runs; a wish for more than there are means all. */
#include "check.h"

enum { WORKERS = 4 };
static atomic_int held, ran;
static int32_t body(norn_self *self, void *arg) {
    const int mine = *(int *)arg;
    (void)self;
    CHECK(atomic_fetch_add(&held, mine) + mine <= WORKERS);
    sleep_ns(300000);
    atomic_fetch_sub(&held, mine);
    atomic_fetch_add(&ran, 1);
    return 0;
}

int main(void) {
    norn_runtime *rt = open_workers(WORKERS);
    const int32_t wishes[] = {0, 1, 2, 3, 4, 100, 1, 1, 2};
    int numbers[] = {1, 1, 2, 3, 4, 4, 1, 1, 2};
    for (int round = 0; round < 20; round++)
        for (size_t i = 0; i < COUNT_OF(wishes); i++) {
            norn_task task = task_of(body, &numbers[i]);
            task.cpus = wishes[i];
            submit(rt, &task);
        }
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(ran, 20 * (int)COUNT_OF(wishes));
    norn_task task = task_of(body_must_not_run, NULL);
    task.cpus = -1;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_INVALID);
    CHECK_OK(norn_close(rt));
    return 0;
}
