/* High priorities start before ordinary tasks that wait already, on one worker and on two. */
#include "check.h"

enum { NORMAL = 1000, HIGH = 10 };
static atomic_int held, release, started;
static norn_runtime *rt;
static atomic_int highs_started, overtaken;

static int32_t hold(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    atomic_fetch_add(&held, 1);
    WAIT_FOR(release);
    return 0;
}
static int32_t normal(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    atomic_fetch_add(&started, 1);
    return 0;
}
static int32_t high(norn_self *self, void *arg) {
    (void)self;
    if (started > *(int *)arg) atomic_fetch_add(&overtaken, 1);
    atomic_fetch_add(&highs_started, 1);
    return 0;
}
static int32_t submit_normals(norn_self *self, void *arg) {
    for (int i = 0; i < NORMAL; i++) submit_run(rt, normal, NULL);
    return hold(self, arg);
}

int main(void) {
    for (int workers = 1; workers <= 2; workers++) {
        rt = open_workers(workers);
        atomic_store(&held, 0);
        atomic_store(&release, 0);
        atomic_store(&started, 0);
        atomic_store(&highs_started, 0);
        atomic_store(&overtaken, 0);
        for (int i = 1; i < workers; i++) submit_run(rt, hold, NULL);
        WAIT_FOR(held == workers - 1);
        submit_run(rt, submit_normals, NULL); /* all of them in the queue of one worker */
        WAIT_FOR(held == workers);
        CHECK_EQUAL(started, 0);
        int tolerated = workers; /* one that each worker may have taken already */
        for (int i = 0; i < HIGH; i++) {
            norn_task task = task_of(high, &tolerated);
            task.priority = 100 + i;
            submit(rt, &task);
        }
        atomic_store(&release, 1);
        CHECK_OK(norn_drain(rt, FOREVER));
        CHECK_EQUAL(started, NORMAL);
        CHECK_EQUAL(highs_started, HIGH);
        /* A worker that the system stops between taking a task and starting it cannot be told from one that came late. */
        CHECK(overtaken <= workers - 1);
        CHECK_OK(norn_close(rt));
    }
    return 0;
}
