/* A token, datum or group of one runtime is refused by another, and both go on. */
#include "check.h"

int main(void) {
    norn_runtime *one = open_plain(), *two = open_plain();
    CHECK(one != two);
    int value = 0;
    norn_token token = promised(one, "of one"), unbound = declared(one, "unbound of one"), out = {5};
    norn_data data = DATUM(one, value), part;
    norn_group group, new_group = {0};
    norn_token done;
    CHECK_OK(norn_group_open(one, "group", (norn_group){0}, &group, &done));
    norn_token mine = declared(two, "of two");

    int32_t is = -1;
    uint64_t index = 99, slot = 0;
    norn_error_info info = NORN_ERROR_INFO_INIT;
    CHECK_STATUS(norn_await(two, token, FOREVER), NORN_E_INVALID);
    CHECK_STATUS(norn_await_all(two, &token, 1, FOREVER), NORN_E_INVALID);
    CHECK_STATUS(norn_await_any(two, &token, 1, FOREVER, &index), NORN_E_INVALID);
    CHECK_STATUS(norn_test(two, token, &is), NORN_E_INVALID);
    CHECK_STATUS(norn_error(two, token, &info), NORN_E_INVALID);
    CHECK_STATUS(norn_cancel(two, token), NORN_E_INVALID);
    CHECK_STATUS(norn_fulfill(two, token), NORN_E_INVALID);
    CHECK_STATUS(norn_fail(two, token, 1, "x"), NORN_E_INVALID);
    CHECK_STATUS(norn_edge(two, token, mine), NORN_E_INVALID);
    CHECK_STATUS(norn_edge(two, mine, unbound), NORN_E_INVALID);
    CHECK_STATUS(norn_start(two, unbound), NORN_E_INVALID);
    CHECK_STATUS(norn_unhold(two, token, 1), NORN_E_INVALID);
    CHECK_STATUS(norn_group_close(two, group), NORN_E_INVALID);
    CHECK_STATUS(norn_group_open(two, "g", group, &new_group, &out), NORN_E_INVALID);
    CHECK_STATUS(norn_data_unregister(two, data), NORN_E_INVALID);
    CHECK_STATUS(norn_data_join(two, data), NORN_E_INVALID);
    norn_piece piece = {0, 1, 1, 0};
    CHECK_STATUS(norn_data_split(two, data, &piece, 1, &part), NORN_E_INVALID);
    norn_access access = norn_write(data);
    CHECK_STATUS(norn_reserve(two, &access, 1, &slot), NORN_E_INVALID);
    CHECK_STATUS(norn_data_acquire(two, &access, 1, FOREVER, &out), NORN_E_INVALID);

    norn_task task = task_of(body_must_not_run, NULL);
    task.after = &token;
    task.after_count = 1;
    CHECK_STATUS(norn_submit(two, &task, &out), NORN_E_INVALID);
    task.after_count = 0;
    task.as = unbound;
    CHECK_STATUS(norn_submit(two, &task, &out), NORN_E_INVALID);
    task.as.id = 0;
    task.group = group;
    CHECK_STATUS(norn_submit(two, &task, &out), NORN_E_INVALID);
    task.group.id = 0;
    task.accesses = &access;
    task.access_count = 1;
    CHECK_STATUS(norn_submit(two, &task, &out), NORN_E_INVALID);
    CHECK_EQUAL(out.id, 5);
    CHECK_EQUAL(index, 99);
    CHECK_EQUAL(is, -1);

    CHECK_OK(norn_fulfill(one, token));
    CHECK_OK(norn_group_close(one, group));
    norn_token as[2] = {unbound, mine};
    norn_runtime *of[2] = {one, two};
    for (int i = 0; i < 2; i++) {
        task = task_of(body_nothing, NULL);
        task.as = as[i];
        submit(of[i], &task);
        CHECK_OK(norn_await(of[i], as[i], FOREVER));
    }
    CHECK_OK(norn_close(one));
    CHECK_STATUS(norn_await(two, token, 0), NORN_E_INVALID);
    CHECK_OK(norn_close(two));
    return 0;
}
