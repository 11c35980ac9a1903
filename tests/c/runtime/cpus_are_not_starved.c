/* A body that wants all workers gets them although single ones keep coming. */
#include "check.h"

static norn_runtime *rt;
static atomic_int stop, ran_wide;
static int32_t again(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    sleep_ns(100000);
    if (!stop) submit_run(rt, again, NULL);
    return 0;
}
static int32_t wide(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    atomic_fetch_add(&ran_wide, 1);
    return 0;
}

int main(void) {
    rt = open_workers(3);
    for (int i = 0; i < 6; i++) submit_run(rt, again, NULL);
    for (int i = 0; i < 20; i++) {
        norn_task task = task_of(wide, NULL);
        task.cpus = 3;
        CHECK_OK(norn_await(rt, submit(rt, &task), FOREVER));
    }
    atomic_store(&stop, 1);
    CHECK_EQUAL(ran_wide, 20);
    CHECK_OK(norn_close(rt));
    return 0;
}
