/* RUN_ALWAYS tasks run behind failed data and behind what the close has failed. */
#include "check.h"

static atomic_int cleaned;
static norn_task cleanup(void) {
    norn_task task = task_of(body_count, &cleaned);
    task.flags = NORN_RUN_ALWAYS;
    return task;
}

int main(void) {
    norn_runtime *rt = open_plain();
    int value = 0;
    norn_data data = DATUM(rt, value);
    norn_token failed = submit_on(rt, body_fail, NULL, norn_write(data));
    norn_access access = norn_read(data);
    norn_task task = cleanup();
    task.accesses = &access;
    task.access_count = 1;
    CHECK_OK(norn_await(rt, submit(rt, &task), FOREVER));
    CHECK_EQUAL(cleaned, 1);
    CHECK_STATUS(norn_await(rt, failed, FOREVER), NORN_E_TASK_FAILED);

    norn_token before[2] = {promised(rt, "never fulfilled"), declared(rt, "never bound")};
    for (int i = 0; i < 2; i++) {
        task = cleanup();
        task.after = &before[i];
        task.after_count = 1;
        submit(rt, &task);
        norn_token lost = submit_after(rt, body_must_not_run, NULL, before[i]);
        task.after = &lost;
        submit(rt, &task);
    }
    norn_close(rt);
    CHECK_EQUAL(cleaned, 5);
    return 0;
}
