/* A child's accesses must be covered by its parent's. */
#include "check.h"

static norn_runtime *rt;
static norn_data owned, read_only, other;
static int owned_value, read_only_value, other_value;
static atomic_int dropped, ran;

static void child(norn_task_fn run, norn_access access, norn_status expected) {
    norn_task task = task_of(run, run == body_must_not_run ? &dropped : &ran);
    norn_token token = {0};
    task.flags = NORN_CHILD;
    task.drop = run == body_must_not_run ? drop_count : NULL;
    task.accesses = &access;
    task.access_count = access.data.id != 0;
    CHECK_STATUS(norn_submit(rt, &task, &token), expected);
    CHECK((token.id != 0) == (expected == NORN_OK));
}
static int32_t parent(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    const norn_data none = {0};
    child(body_count, norn_read(none), NORN_OK); /* no access at all */
    child(body_count, norn_read(owned), NORN_OK);
    child(body_count, norn_write(owned), NORN_OK);
    child(body_count, norn_update(owned), NORN_OK);
    child(body_count, norn_commute(owned), NORN_OK);
    child(body_count, norn_read(read_only), NORN_OK);
    child(body_must_not_run, norn_write(read_only), NORN_E_UNCOVERED);
    child(body_must_not_run, norn_update(read_only), NORN_E_UNCOVERED);
    child(body_must_not_run, norn_commute(read_only), NORN_E_UNCOVERED);
    child(body_must_not_run, norn_read(other), NORN_E_UNCOVERED);
    child(body_must_not_run, norn_write(other), NORN_E_UNCOVERED);
    return 0;
}
static int32_t release_first(norn_self *self, void *arg) {
    (void)arg;
    CHECK_OK(norn_self_release(self, owned));
    child(body_must_not_run, norn_read(owned), NORN_E_UNCOVERED);
    return 0;
}

int main(void) {
    rt = open_plain();
    owned = DATUM(rt, owned_value);
    read_only = DATUM(rt, read_only_value);
    other = DATUM(rt, other_value);
    norn_access both[2] = {norn_update(owned), norn_read(read_only)};
    norn_task task = task_of(parent, NULL);
    task.accesses = both;
    task.access_count = 2;
    CHECK_OK(norn_await(rt, submit(rt, &task), FOREVER));
    CHECK_EQUAL(ran, 6);
    CHECK_OK(norn_await(rt, submit_on(rt, release_first, NULL, norn_update(owned)), FOREVER));

    /* Outside a task there is no parent. */
    task = task_of(body_must_not_run, NULL);
    task.flags = NORN_CHILD;
    CHECK_ERROR(norn_submit(rt, &task, NULL));
    CHECK_OK(norn_close(rt));
    CHECK_EQUAL(dropped, 0);
    return 0;
}
