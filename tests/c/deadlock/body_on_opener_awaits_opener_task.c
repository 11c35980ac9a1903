/* A body on the opener's stack that awaits a task for the opener is told so at the call: nothing else can run there. */
#include "check.h"

static norn_runtime *rt;
static pthread_t opener;
static atomic_int ran, told;

static int32_t count(norn_self *self, void *arg) {
    (void)self, (void)arg;
    CHECK(pthread_equal(pthread_self(), opener));
    atomic_fetch_add(&ran, 1);
    return 0;
}

static norn_task opener_task(norn_task_fn run) {
    norn_task task = task_of(run, NULL);
    task.place = norn_place_of(NORN_PLACE_OPENER, 0);
    task.name = "for the opener";
    return task;
}

static void await_from_body(norn_token token, int64_t timeout) {
    const int here = pthread_equal(pthread_self(), opener);
    norn_status status = norn_await(rt, token, timeout);
    if (!here) {
        CHECK_STATUS(status, NORN_OK);
        return;
    }
    CHECK_STATUS(status, NORN_E_WOULD_DEADLOCK);
    CHECK_SAYS("cycle");
    atomic_fetch_add(&told, 1);
}

static int32_t direct(norn_self *self, void *arg) {
    (void)self, (void)arg;
    norn_task task = opener_task(count);
    norn_token token = submit(rt, &task);
    await_from_body(token, FOREVER);
    return 0;
}

static int32_t limited(norn_self *self, void *arg) {
    (void)self, (void)arg;
    norn_task task = opener_task(count);
    norn_token token = submit(rt, &task);
    await_from_body(token, 60 * SECOND);
    return 0;
}

/* What is awaited comes only after a task for the opener. */
static int32_t behind(norn_self *self, void *arg) {
    (void)self, (void)arg;
    norn_task task = opener_task(count);
    norn_token first = submit(rt, &task);
    norn_task second = task_of(count, NULL);
    second.place = norn_place_of(NORN_PLACE_OPENER, 0);
    second.name = "second";
    second.after = &first;
    second.after_count = 1;
    await_from_body(submit(rt, &second), FOREVER);
    return 0;
}

int main(void) {
    rt = open_plain();
    opener = pthread_self();
    submit_run(rt, direct, NULL);
    CHECK_OK(norn_drain(rt, FOREVER));
    submit_run(rt, limited, NULL);
    CHECK_OK(norn_drain(rt, FOREVER));
    submit_run(rt, behind, NULL);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(ran, 4);
    /* A task for the opener is on its stack whatever the mode. */
    const int before = told;
    norn_task task = opener_task(direct);
    norn_token token = submit(rt, &task);
    CHECK_OK(norn_await(rt, token, FOREVER));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(told, before + 1);
    CHECK_EQUAL(ran, 5);
    CHECK_OK(norn_close(rt));
    return 0;
}
