/* A destructor of an argument may submit and fulfil: on every way in which a task can end. */
#include "check.h"

static norn_runtime *rt;
static norn_token kept;
static atomic_int ran, dropped;

static int32_t counts(norn_self *self, void *arg) {
    (void)self, (void)arg;
    atomic_fetch_add(&ran, 1);
    return 0;
}

static void drop(void *arg) {
    (void)arg;
    atomic_fetch_add(&dropped, 1);
    submit_run(rt, counts, NULL);
    norn_fulfill(rt, kept); /* only the first does */
}

static norn_task with_drop(norn_task_fn run) {
    norn_task task = task_of(run, &dropped);
    task.drop = drop;
    return task;
}

static int32_t fails(norn_self *self, void *arg) {
    (void)self, (void)arg;
    return 3;
}

int main(void) {
    rt = open_plain();
    kept = promised(rt, "kept");
    norn_token gate = promised(rt, "gate"), failed, cancelled;
    norn_task task = with_drop(counts);
    submit(rt, &task); /* runs */
    task = with_drop(fails);
    failed = submit(rt, &task); /* fails */
    task = with_drop(counts);
    task.after = &failed;
    task.after_count = 1;
    submit(rt, &task); /* propagated */
    task.after = &gate;
    cancelled = submit(rt, &task);
    CHECK_OK(norn_cancel(rt, cancelled));
    CHECK_OK(norn_await(rt, kept, FOREVER));
    CHECK_STATUS(norn_await(rt, failed, FOREVER), NORN_E_TASK_FAILED);
    task.after = &failed;
    submit(rt, &task); /* propagated at once, inside the submission */
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(dropped, 5);
    CHECK_EQUAL(ran, 1 + 5);
    CHECK_OK(norn_close(rt));
    return 0;
}
