/* As many bodies run at once as there are workers, and never more. */
#include "check.h"

static atomic_int inside, most;
static int32_t meet(norn_self *self, void *arg) {
    (void)self;
    atomic_fetch_add(&inside, 1);
    WAIT_FOR(inside >= *(int *)arg);
    return 0;
}
static int32_t count_inside(norn_self *self, void *arg) {
    const int now = atomic_fetch_add(&inside, 1) + 1;
    int old = atomic_load(&most);
    (void)self;
    (void)arg;
    while (now > old && !atomic_compare_exchange_weak(&most, &old, now)) {
    }
    sleep_ns(200000);
    atomic_fetch_sub(&inside, 1);
    return 0;
}

int main(void) {
    int counts[] = {1, 2, 5, 16};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        norn_runtime *rt = open_workers(counts[i]);
        CHECK_EQUAL(stats_of(rt).workers, counts[i]);
        atomic_store(&inside, 0);
        for (int k = 0; k < counts[i]; k++) submit_run(rt, meet, &counts[i]);
        CHECK_OK(norn_drain(rt, FOREVER));
        atomic_store(&inside, 0);
        atomic_store(&most, 0);
        for (int k = 0; k < 200; k++) submit_run(rt, count_inside, NULL);
        CHECK_OK(norn_drain(rt, FOREVER));
        CHECK(most <= counts[i]);
        CHECK_OK(norn_close(rt));
    }
    return 0;
}
