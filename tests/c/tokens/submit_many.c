/* norn_submit_many submits all or nothing and names the culprit. */
#include "check.h"

enum { TASKS = 300 };
static atomic_int ran, dropped;

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token later = declared(rt, "later"), tokens[TASKS];
    norn_task tasks[TASKS];
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = task_of(body_count, &ran);
        tasks[i].after = &later;
        tasks[i].after_count = i == TASKS - 1 ? 0 : 1;
        tokens[i].id = 1;
    }
    tasks[TASKS - 1].as = later;

    /* One bad element: nothing happens. */
    tasks[42].drop = drop_count;
    tasks[42].arg = &dropped;
    tasks[42].flags = 1u << 30;
    CHECK_STATUS(norn_submit_many(rt, tasks, TASKS, tokens), NORN_E_INVALID);
    CHECK_SAYS("42");
    for (int i = 0; i < TASKS; i++) CHECK_EQUAL(tokens[i].id, 1);
    tasks[42] = tasks[41];

    /* One element of a closed group, or of none: those before it are not submitted either. */
    norn_group group;
    norn_token done;
    CHECK_OK(norn_group_open(rt, "group", (norn_group){0}, &group, &done));
    CHECK_OK(norn_group_close(rt, group));
    for (int wrong = 0; wrong < 2; wrong++) {
        norn_task pair[2] = {task_of(body_count, &ran), task_of(body_count, &ran)};
        pair[0].drop = drop_count;
        pair[0].arg = &dropped;
        pair[1].group = wrong ? (norn_group){UINT64_MAX} : group;
        CHECK_STATUS(norn_submit_many(rt, pair, 2, NULL), wrong ? NORN_E_INVALID : NORN_E_CLOSED);
        CHECK_SAYS("tasks[1]");
    }

    /* One element of another size. */
    tasks[7].struct_size += 8;
    CHECK_ERROR(norn_submit_many(rt, tasks, TASKS, tokens));
    tasks[7].struct_size -= 8;
    CHECK_EQUAL(stats_of(rt).submitted, 0);

    CHECK_OK(norn_submit_many(rt, tasks, TASKS, tokens));
    CHECK(tokens[TASKS - 1].id == later.id);
    CHECK_OK(norn_await_all(rt, tokens, TASKS, FOREVER));
    CHECK_EQUAL(ran, TASKS);

    CHECK_OK(norn_submit_many(rt, NULL, 0, NULL));
    tasks[TASKS - 1].as.id = 0;
    CHECK_OK(norn_submit_many(rt, tasks, TASKS, NULL));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(ran, 2 * TASKS);
    CHECK_OK(norn_close(rt));
    CHECK_EQUAL(dropped, 0);
    return 0;
}
