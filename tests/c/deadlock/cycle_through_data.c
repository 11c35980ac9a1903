/* Cycles that run through data and reserved places are found as well. */
#include "check.h"

static atomic_int ran;
int main(void) {
    norn_runtime *rt = open_plain();
    norn_data data = pure_name(rt, "d");

    /* writer waits for `late` explicitly; `late` would wait for the writer through the datum. */
    norn_token late = declared(rt, "late");
    norn_token writer = submit_on_after(rt, body_count, &ran, norn_write(data), late);
    norn_access access = norn_read(data);
    norn_task task = task_of(body_must_not_run, &ran);
    task.drop = drop_count;
    task.as = late;
    task.accesses = &access;
    task.access_count = 1;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_DEADLOCK);
    task = task_of(body_count, &ran);
    task.as = late;
    submit(rt, &task);
    CHECK_OK(norn_await(rt, writer, FOREVER));
    CHECK_EQUAL(ran, 2);

    /* A reserved place whose filler would wait for a task behind that place. */
    access = norn_write(data);
    CHECK_OK(norn_reserve(rt, &access, 1, &access.slot));
    norn_token behind = submit_on(rt, body_count, &ran, norn_read(data));
    task = task_of(body_must_not_run, &ran);
    task.accesses = &access;
    task.access_count = 1;
    task.after = &behind;
    task.after_count = 1;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_DEADLOCK);
    task.run = body_count;
    task.after_count = 0;
    submit(rt, &task); /* the place is still there */
    CHECK_OK(norn_await(rt, behind, FOREVER));
    CHECK_EQUAL(ran, 4);
    CHECK_OK(norn_close(rt));
    return 0;
}
