/* An access that a child still uses cannot be released early. */
#include "check.h"

static norn_runtime *rt;
static norn_data data;
static norn_token gate;
static int value;
static int32_t parent(norn_self *self, void *arg) {
    norn_access access = norn_read(data);
    norn_task task = task_of(body_nothing, NULL);
    (void)arg;
    task.flags = NORN_CHILD;
    task.accesses = &access;
    task.access_count = 1;
    task.after = &gate;
    task.after_count = 1;
    norn_token child = submit(rt, &task);
    CHECK_STATUS(norn_self_release(self, data), NORN_E_STATE);
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_await(rt, child, FOREVER));
    CHECK_OK(norn_self_release(self, data));
    return 0;
}

int main(void) {
    rt = open_plain();
    data = DATUM(rt, value);
    gate = promised(rt, "gate");
    CHECK_OK(norn_await(rt, submit_on(rt, parent, NULL, norn_update(data)), FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
