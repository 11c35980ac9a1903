/* Waiting for nothing returns at once. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_OK(norn_drain(rt, 0));
    CHECK_OK(norn_await_all(rt, NULL, 0, FOREVER));
    CHECK_OK(norn_await_all(rt, NULL, 0, 0));
    CHECK_OK(norn_await(rt, (norn_token){0}, FOREVER));
    CHECK_OK(norn_progress(rt));

    /* An empty group, and a group that holds only an empty group. */
    norn_group outer, inner;
    norn_token outer_done, inner_done;
    CHECK_OK(norn_group_open(rt, "outer", (norn_group){0}, &outer, &outer_done));
    CHECK_OK(norn_group_open(rt, "inner", outer, &inner, &inner_done));
    CHECK(!is_done(rt, inner_done));
    CHECK_OK(norn_group_close(rt, outer));
    CHECK(!is_done(rt, outer_done));
    CHECK_OK(norn_group_close(rt, inner));
    CHECK_OK(norn_await(rt, inner_done, FOREVER));
    CHECK_OK(norn_await(rt, outer_done, FOREVER));

    /* A datum that nobody writes. */
    int value = 5;
    norn_data data = DATUM(rt, value);
    CHECK_OK(norn_await(rt, submit_on(rt, body_nothing, NULL, norn_read(data)), FOREVER));
    CHECK_OK(norn_data_unregister(rt, data));
    CHECK_OK(norn_data_unregister(rt, pure_name(rt, "unused")));

    norn_token hold = {1};
    CHECK_OK(norn_data_acquire(rt, NULL, 0, FOREVER, &hold));
    CHECK_OK(norn_data_release(rt, hold));
    CHECK_OK(norn_close(rt));

    /* Opened and closed with nothing between. */
    rt = open_plain();
    CHECK_OK(norn_close(rt));
    rt = open_plain();
    CHECK_OK(norn_seal(rt));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_OK(norn_close_with(rt, NORN_CANCEL, FOREVER));
    return 0;
}
