/* A task that would stand behind a place whose filler waits for it is refused. */
#include "check.h"

static atomic_int ran;
int main(void) {
    norn_runtime *rt = open_plain();
    norn_data data = pure_name(rt, "d");
    norn_token late = declared(rt, "late");
    norn_access place = norn_write(data), behind = norn_update(data);
    CHECK_OK(norn_reserve(rt, &place, 1, &place.slot));
    norn_task filler = task_of(body_count, &ran);
    filler.accesses = &place;
    filler.access_count = 1;
    filler.after = &late;
    filler.after_count = 1;
    norn_token filled = submit(rt, &filler);
    norn_task task = task_of(body_must_not_run, NULL);
    task.as = late;
    task.accesses = &behind;
    task.access_count = 1;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_DEADLOCK);
    CHECK_SAYS("late");
    task = task_of(body_count, &ran);
    task.as = late;
    submit(rt, &task);
    CHECK_OK(norn_await(rt, filled, FOREVER));
    CHECK_EQUAL(ran, 2);
    CHECK_OK(norn_close(rt));
    return 0;
}
