/* A parent whose child fails does not end well, and its datum neither. */
#include "check.h"

static norn_runtime *rt;
static norn_data data;
static int value;
static norn_token child_token;
static int32_t parent(norn_self *self, void *arg) {
    norn_access access = norn_update(data);
    norn_task task = task_of(body_fail, NULL);
    (void)self;
    (void)arg;
    task.name = "the child";
    task.flags = NORN_CHILD;
    task.accesses = &access;
    task.access_count = 1;
    child_token = submit(rt, &task);
    return 0;
}

int main(void) {
    rt = open_plain();
    data = DATUM(rt, value);
    norn_token gate = promised(rt, "gate");
    norn_token token = submit_on_after(rt, parent, NULL, norn_update(data), gate);
    norn_token by_data = submit_on(rt, body_must_not_run, NULL, norn_read(data));
    norn_token by_token = submit_after(rt, body_must_not_run, NULL, token);
    CHECK_OK(norn_fulfill(rt, gate));
    norn_token ends[3] = {token, by_data, by_token};
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(norn_await(rt, ends[i], FOREVER), NORN_E_PROPAGATED);
        CHECK(record_of(rt, ends[i]).cause.id == child_token.id);
    }
    CHECK_STATUS(norn_await(rt, child_token, FOREVER), NORN_E_TASK_FAILED);
    CHECK_OK(norn_close(rt));
    return 0;
}
