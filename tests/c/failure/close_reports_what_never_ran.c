/* Closing with tasks that could never run is not success. */
#include "check.h"

static atomic_int dropped;
int main(void) {
    norn_runtime *rt = open_plain();
    norn_token never = promised(rt, "never");
    norn_task task = task_of(body_must_not_run, &dropped);
    task.drop = drop_count;
    task.after = &never;
    task.after_count = 1;
    submit(rt, &task);
    CHECK(norn_close(rt) < 0);
    CHECK_EQUAL(dropped, 1);
    CHECK_STATUS(norn_progress(rt), NORN_E_INVALID);
    return 0;
}
