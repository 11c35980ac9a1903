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

int main(void) {
    rt = open_plain();
    for (int32_t mode = NORN_READ; mode <= NORN_COMMUTE; mode++) {
        refused(mode, 0);
        refused(mode, NORN_RUN_ALWAYS);
    }
    CHECK_OK(norn_close(rt));
    return 0;
}
