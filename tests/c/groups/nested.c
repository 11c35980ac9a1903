/* A group is a member of its parent group. */
#include "check.h"

enum { LEVELS = 10 };
static atomic_int ran;
int main(void) {
    norn_runtime *rt = open_plain();
    norn_group groups[LEVELS];
    norn_token done[LEVELS], gate = promised(rt, "gate");
    for (int i = 0; i < LEVELS; i++)
        CHECK_OK(norn_group_open(rt, "level", i == 0 ? (norn_group){0} : groups[i - 1], &groups[i], &done[i]));
    norn_task task = task_of(body_count, &ran);
    task.group = groups[LEVELS - 1];
    task.after = &gate;
    task.after_count = 1;
    submit(rt, &task);
    for (int i = 0; i < LEVELS; i++) CHECK_OK(norn_group_close(rt, groups[i]));
    for (int i = 0; i < LEVELS; i++) CHECK(!is_done(rt, done[i]));
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_await(rt, done[0], FOREVER));
    for (int i = 0; i < LEVELS; i++) CHECK(is_done(rt, done[i]));
    CHECK_EQUAL(ran, 1);

    /* A sibling does not hold up its sibling. */
    norn_group outer, left, right;
    norn_token outer_done, left_done, right_done;
    CHECK_OK(norn_group_open(rt, "outer", (norn_group){0}, &outer, &outer_done));
    CHECK_OK(norn_group_open(rt, "left", outer, &left, &left_done));
    CHECK_OK(norn_group_open(rt, "right", outer, &right, &right_done));
    CHECK_OK(norn_group_close(rt, outer));
    CHECK_OK(norn_group_close(rt, left));
    CHECK_OK(norn_await(rt, left_done, FOREVER));
    CHECK(!is_done(rt, outer_done));
    CHECK_OK(norn_group_close(rt, right));
    CHECK_OK(norn_await(rt, outer_done, FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
