/* Past max_threads an await inside a task gives NORN_E_RESOURCE, and the program goes on. */
#include "check.h"

static norn_runtime *rt;
static norn_token gate;
static atomic_int fine, refused;

static int32_t waiter(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    norn_status status = norn_await(rt, gate, FOREVER);
    if (status == NORN_OK) atomic_fetch_add(&fine, 1);
    else {
        CHECK_STATUS(status, NORN_E_RESOURCE);
        atomic_fetch_add(&refused, 1);
    }
    return 0;
}
static int32_t opener(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    return norn_fulfill(rt, gate);
}

int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    config.workers = 1;
    config.max_threads = 3; /* the worker and two in its place */
    rt = open_with(&config);
    gate = promised(rt, "gate");
    for (int i = 0; i < 6; i++) {
        norn_task task = task_of(waiter, NULL);
        task.priority = 10; /* the one that opens the gate comes last: it needs a thread that is not blocked */
        submit(rt, &task);
        sleep_ms(5);
    }
    norn_token token = submit_run(rt, opener, NULL);
    CHECK_OK(norn_await(rt, token, FOREVER));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(fine + refused, 6);
    CHECK(fine >= 1);
    CHECK(refused >= 1);
    CHECK(stats_of(rt).threads <= 3);
    CHECK_OK(norn_close(rt));
    return 0;
}
