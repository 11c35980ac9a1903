/* A token cannot come before itself. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token unbound = declared(rt, "unbound");
    CHECK_STATUS(norn_edge(rt, unbound, unbound), NORN_E_INVALID);

    norn_task task = task_of(body_nothing, NULL);
    task.flags = NORN_HELD;
    norn_token held = submit(rt, &task);
    CHECK_STATUS(norn_edge(rt, held, held), NORN_E_INVALID);

    /* The same through `after` of the task that binds the token. */
    norn_task binder = task_of(body_nothing, NULL);
    binder.as = unbound;
    binder.after = &unbound;
    binder.after_count = 1;
    norn_status status = norn_submit(rt, &binder, NULL);
    CHECK(status == NORN_E_INVALID || status == NORN_E_DEADLOCK);

    /* Both are as good as before. */
    binder.after_count = 0;
    CHECK_OK(norn_submit(rt, &binder, NULL));
    CHECK_OK(norn_start(rt, held));
    CHECK_OK(norn_await(rt, unbound, FOREVER));
    CHECK_OK(norn_await(rt, held, FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
