/* A cancelled task keeps its place until what comes before it is done: a cycle through it is refused. */
#include "check.h"

static norn_runtime *rt;

/* A place of `first`, a task behind it that is cancelled, a task behind that; who fills the place may not wait for it. */
static void refused(int32_t mode, uint32_t flags) {
    norn_data first = pure_name(rt, "first"), second = pure_name(rt, "second");
    norn_access place = norn_access_of(first, mode), both[2] = {norn_update(first), norn_update(second)};
    CHECK_OK(norn_reserve(rt, &place, 1, &place.slot));
    CHECK_OK(norn_cancel(rt, submit_on(rt, body_must_not_run, NULL, norn_update(first))));
    norn_task task = task_of(body_nothing, NULL);
    task.name = "behind both";
    task.flags = flags;
    task.accesses = both;
    task.access_count = 2;
    norn_token behind = submit(rt, &task);
    both[0] = place;
    both[1] = norn_read(second);
    task.name = "filler";
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_DEADLOCK);
    CHECK_SAYS("behind both");
    task.access_count = 1;
    CHECK_OK(norn_await(rt, submit(rt, &task), FOREVER));
    const norn_status status = norn_await(rt, behind, FOREVER); /* the cancelled writer's datum has failed */
    CHECK(status == (flags != 0 ? NORN_OK : NORN_E_PROPAGATED));
}

/* For its explicit predecessors a cancelled task waits no more, so nothing behind it does. */
static void accepted(void) {
    norn_data data = pure_name(rt, "data");
    norn_token late = declared(rt, "late"), gate = promised(rt, "gate");
    submit_on_after(rt, body_nothing, NULL, norn_read(data), gate);
    norn_task task = task_of(body_must_not_run, NULL);
    norn_access update = norn_update(data), write = norn_write(data);
    task.accesses = &update;
    task.access_count = 1;
    task.after = &late;
    task.after_count = 1;
    CHECK_OK(norn_cancel(rt, submit(rt, &task)));
    task = task_of(body_nothing, NULL);
    task.as = late;
    task.accesses = &write;
    task.access_count = 1;
    CHECK_OK(norn_submit(rt, &task, NULL));
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_await(rt, late, FOREVER));
}

int main(void) {
    rt = open_plain();
    for (int32_t mode = NORN_READ; mode <= NORN_COMMUTE; mode++) {
        refused(mode, 0);
        refused(mode, NORN_RUN_ALWAYS);
    }
    accepted();
    CHECK_OK(norn_close(rt));
    return 0;
}
