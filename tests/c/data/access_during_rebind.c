/* While a rebind or unregister of a datum waits, the datum takes no further access, and the text says why. */
#include "check.h"

static norn_runtime *rt;
static norn_data data;
static int old_memory, new_memory;

static void *rebind(void *arg) {
    (void)arg;
    CHECK_OK(norn_data_rebind(rt, data, &new_memory, sizeof new_memory));
    return NULL;
}
static void *unregister(void *arg) {
    (void)arg;
    CHECK_OK(norn_data_unregister(rt, data));
    return NULL;
}

/* Everything that would use the datum. */
static void check_refused(void) {
    norn_access access = norn_read(data);
    norn_task task = task_of(body_must_not_run, NULL);
    uint64_t slot = 0;
    norn_token hold;
    task.accesses = &access;
    task.access_count = 1;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_STATE);
    CHECK_SAYS("unregistered or rebound");
    CHECK_STATUS(norn_submit_many(rt, &task, 1, NULL), NORN_E_STATE);
    CHECK_SAYS("unregistered or rebound");
    CHECK_STATUS(norn_reserve(rt, &access, 1, &slot), NORN_E_STATE);
    CHECK_STATUS(norn_data_acquire(rt, &access, 1, 0, &hold), NORN_E_STATE);
    CHECK_SAYS("unregistered or rebound");
    CHECK_STATUS(norn_data_unregister(rt, data), NORN_E_STATE);
    CHECK_SAYS("unregistered or rebound");
    CHECK_STATUS(norn_data_rebind(rt, data, &new_memory, sizeof new_memory), NORN_E_STATE);
    CHECK_SAYS("unregistered or rebound");
}

int main(void) {
    void *(*const calls[])(void *) = {rebind, unregister};
    rt = open_plain();
    data = DATUM(rt, old_memory);
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        pthread_t thread;
        norn_access access = norn_update(data);
        norn_token before = promised(rt, "before");
        norn_task task = task_of(body_nothing, NULL);
        task.accesses = &access;
        task.access_count = 1;
        task.after = &before;
        task.after_count = 1;
        submit(rt, &task); /* what the call waits for */
        CHECK(pthread_create(&thread, NULL, calls[i], NULL) == 0);
        /* The call has begun when a task is refused; those that came before it run. */
        norn_status status;
        task.run = body_nothing;
        WAIT_FOR((status = norn_submit(rt, &task, NULL)) != NORN_OK);
        CHECK_STATUS(status, NORN_E_STATE);
        check_refused();
        CHECK_OK(norn_fulfill(rt, before));
        CHECK(pthread_join(thread, NULL) == 0);
        if (calls[i] == rebind) CHECK_OK(norn_await(rt, submit_on(rt, body_nothing, NULL, norn_read(data)), FOREVER));
    }
    CHECK_OK(norn_close(rt));
    return 0;
}
