/* A later element that would close a cycle with what is there: nothing of the batch was taken. */
#include "check.h"

int main(void) {
    atomic_int ran = 0, dropped = 0;
    norn_runtime *rt = open_plain();
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data datum;
    CHECK_OK(norn_data_register(rt, &desc, &datum));
    norn_access update = norn_update(datum);
    norn_token first = declared(rt, "first");
    /* Waits for the declared token, and is the last writer of the datum. */
    norn_task task = task_of(body_count, &ran);
    task.accesses = &update;
    task.access_count = 1;
    task.after = &first;
    task.after_count = 1;
    submit(rt, &task);

    norn_task batch[2] = {task_of(body_must_not_run, &dropped), task_of(body_must_not_run, &dropped)};
    batch[0].drop = batch[1].drop = drop_count;
    batch[1].as = first;
    batch[1].accesses = &update;
    batch[1].access_count = 1;
    CHECK_STATUS(norn_submit_many(rt, batch, 2, NULL), NORN_E_DEADLOCK);
    CHECK_SAYS("tasks[1]");
    CHECK_EQUAL(dropped, 0);

    task = task_of(body_count, &ran);
    task.as = first;
    submit(rt, &task); /* the token is free as before */
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(ran, 2);
    CHECK_EQUAL(dropped, 0);
    CHECK_OK(norn_data_unregister(rt, datum));
    CHECK_OK(norn_close(rt));
    return 0;
}
