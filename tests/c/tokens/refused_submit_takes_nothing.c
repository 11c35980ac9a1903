/* A submission that is refused leaves the argument, the output and every timeline as they were. */
#include "check.h"

static atomic_int dropped;

int main(void) {
    norn_runtime *rt = open_plain();
    int value = 0;
    norn_data data = DATUM(rt, value);
    norn_token out = {123}, bad_token = {UINT64_MAX};
    norn_access good = norn_write(data);
    norn_access bad[] = {{{UINT64_MAX}, 0, NORN_READ, 0}, {data, 0, 0, 0}, {data, 0, 6, 0}, {data, 0, -1, 0}, {data, 0, NORN_READ, 1},
                         {data, UINT64_MAX, NORN_WRITE, 0}, {{0}, 0, NORN_WRITE, 0}, {data, 0, NORN_REDUCE, 0}};
    norn_task task;

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        norn_access accesses[2] = {good, bad[i]};
        task = task_of(body_must_not_run, NULL);
        task.drop = drop_count;
        task.arg = &dropped;
        task.accesses = accesses;
        task.access_count = 2;
        CHECK_STATUS(norn_submit(rt, &task, &out), NORN_E_INVALID);
    }
    task = task_of(body_must_not_run, &dropped);
    task.drop = drop_count;
    task.accesses = &good;
    task.access_count = 1;
    task.after = &bad_token;
    task.after_count = 1;
    CHECK_STATUS(norn_submit(rt, &task, &out), NORN_E_INVALID);
    task.after = NULL;
    CHECK_STATUS(norn_submit(rt, &task, &out), NORN_E_INVALID);
    task.after_count = 0;
    task.flags = 1u << 31;
    CHECK_STATUS(norn_submit(rt, &task, &out), NORN_E_INVALID);
    task.flags = 0;
    task.group.id = UINT64_MAX;
    CHECK_STATUS(norn_submit(rt, &task, &out), NORN_E_INVALID);
    task.group.id = 0;
    task.as.id = UINT64_MAX;
    CHECK_STATUS(norn_submit(rt, &task, &out), NORN_E_INVALID);
    task.as.id = 0;
    task.place = norn_place_of(77, 0);
    CHECK_STATUS(norn_submit(rt, &task, &out), NORN_E_INVALID);
    task.place = norn_place_of(NORN_PLACE_ANY, 0);
    task.run = NULL;
    CHECK_STATUS(norn_submit(rt, &task, &out), NORN_E_INVALID);
    task.run = body_must_not_run;
    task.flags = NORN_CHILD; /* no parent here */
    CHECK_ERROR(norn_submit(rt, &task, &out));

    /* Had one of them taken a place, this would never be reached. */
    CHECK_OK(norn_await(rt, submit_on(rt, body_nothing, NULL, good), FOREVER));
    CHECK_EQUAL(out.id, 123);
    CHECK_OK(norn_data_unregister(rt, data));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(stats_of(rt).live, 0);
    CHECK_OK(norn_close(rt));
    CHECK_EQUAL(dropped, 0);
    return 0;
}
