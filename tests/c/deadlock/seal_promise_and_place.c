/* After norn_seal an open promise, an unfilled place and a group left open are deadlocks too; close clears them. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data data = pure_name(rt, "d");
    norn_access access = norn_write(data);
    uint64_t slot;
    norn_token promise = promised(rt, "the promise"), done;
    norn_group group;
    CHECK_OK(norn_group_open(rt, "the group", (norn_group){0}, &group, &done));
    CHECK_OK(norn_reserve(rt, &access, 1, &slot));
    norn_token by_promise = submit_after(rt, body_must_not_run, NULL, promise);
    norn_token by_place = submit_on(rt, body_must_not_run, NULL, norn_read(data));
    norn_token by_group = submit_after(rt, body_must_not_run, NULL, done);
    norn_token free_one = submit_run(rt, body_nothing, NULL);
    CHECK_OK(norn_seal(rt));
    CHECK_OK(norn_await(rt, free_one, FOREVER));
    CHECK_STATUS(norn_await(rt, by_promise, FOREVER), NORN_E_DEADLOCK);
    CHECK_SAYS("the promise");
    CHECK_STATUS(norn_await(rt, by_place, FOREVER), NORN_E_DEADLOCK);
    CHECK_STATUS(norn_await(rt, by_group, FOREVER), NORN_E_DEADLOCK);
    CHECK_SAYS("the group");
    CHECK_STATUS(norn_data_unregister(rt, data), NORN_E_DEADLOCK);
    norn_close(rt);
    CHECK_STATUS(norn_progress(rt), NORN_E_INVALID);
    return 0;
}
