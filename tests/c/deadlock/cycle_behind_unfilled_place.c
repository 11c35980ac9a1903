/* A reserved place that nobody has filled keeps its order: a cycle through it is refused as any other. */
#include "check.h"

static norn_runtime *rt;
static norn_data data;

/* A task behind `late`, then a place; what stands behind both cannot be `late`, and neither can the filler. */
static void refused(int32_t mode, int abandoned) {
    norn_token late = declared(rt, "late");
    norn_token first = submit_on_after(rt, body_nothing, NULL, norn_update(data), late);
    norn_access place = norn_access_of(data, mode), behind = norn_read(data);
    uint64_t slot;
    CHECK_OK(norn_reserve(rt, &place, 1, &slot));

    norn_task task = task_of(body_nothing, NULL);
    task.as = late;
    task.access_count = 1;
    if (!abandoned) {
        place.slot = slot;
        task.accesses = &place;
        CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_DEADLOCK);
        CHECK_SAYS("late");
    } else {
        CHECK_OK(norn_reserve_abandon(rt, slot));
    }
    task.accesses = &behind;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_DEADLOCK);
    CHECK_SAYS("late");
    task.access_count = 0;
    CHECK_OK(norn_submit(rt, &task, NULL));
    CHECK_OK(norn_await(rt, first, FOREVER));
    if (!abandoned) CHECK_OK(norn_reserve_abandon(rt, slot));
}

/* The token has an edge from what waits for the place. */
static void refused_by_an_edge(void) {
    norn_token late = declared(rt, "late");
    norn_access place = norn_read(data);
    CHECK_OK(norn_reserve(rt, &place, 1, &place.slot));
    norn_token behind = submit_on(rt, body_nothing, NULL, norn_update(data));
    CHECK_OK(norn_edge(rt, behind, late));
    norn_task task = task_of(body_nothing, NULL);
    task.as = late;
    task.accesses = &place;
    task.access_count = 1;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_DEADLOCK);
    CHECK_SAYS("late");
    CHECK_OK(norn_reserve_abandon(rt, place.slot));
    task.access_count = 0;
    CHECK_OK(norn_submit(rt, &task, NULL));
    CHECK_OK(norn_await(rt, late, FOREVER));
}

/* The task fills two places, and one of them comes behind the other through a third task. */
static void refused_between_places(void) {
    norn_data other = pure_name(rt, "other");
    norn_access places[2] = {norn_write(data), norn_update(other)}, both[2] = {norn_read(data), norn_update(other)};
    CHECK_OK(norn_reserve(rt, &places[0], 1, &places[0].slot));
    norn_task task = task_of(body_nothing, NULL);
    task.name = "between";
    task.accesses = both;
    task.access_count = 2;
    norn_token between = submit(rt, &task);
    CHECK_OK(norn_reserve(rt, &places[1], 1, &places[1].slot));
    task.name = "filler";
    task.accesses = places;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_DEADLOCK);
    CHECK_SAYS("between");
    task.access_count = 1;
    submit(rt, &task);
    task.accesses = &places[1];
    CHECK_OK(norn_await(rt, submit(rt, &task), FOREVER));
    CHECK_OK(norn_await(rt, between, 0));
}

/* The place of a held task is no cycle: what comes behind it waits for nothing of its own. */
static void accepted(void) {
    norn_token late = declared(rt, "late");
    norn_access place = norn_write(data), behind = norn_read(data);
    CHECK_OK(norn_reserve(rt, &place, 1, &place.slot));
    norn_task task = task_of(body_nothing, NULL);
    task.as = late;
    task.accesses = &behind;
    task.access_count = 1;
    CHECK_OK(norn_submit(rt, &task, NULL));
    task.as.id = 0;
    task.accesses = &place;
    CHECK_OK(norn_submit(rt, &task, NULL));
    CHECK_OK(norn_await(rt, late, FOREVER));
}

int main(void) {
    rt = open_plain();
    data = pure_name(rt, "d");
    for (int abandoned = 0; abandoned < 2; abandoned++) {
        refused(NORN_WRITE, abandoned);
        refused(NORN_READ_WRITE, abandoned);
        refused(NORN_COMMUTE, abandoned);
    }
    refused_by_an_edge();
    refused_between_places();
    accepted();
    CHECK_OK(norn_close(rt));
    return 0;
}
