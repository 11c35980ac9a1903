/* A close with NORN_CANCEL does not start a held RUN_ALWAYS task: nobody can any more, so it fails as closed; what is
   RUN_ALWAYS behind it runs. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    atomic_int cleaned = 0, dropped = 0;
    norn_task task = task_of(body_must_not_run, &dropped);
    task.drop = drop_count;
    task.flags = NORN_RUN_ALWAYS | NORN_HELD;
    norn_token held = submit(rt, &task);
    task = task_of(body_count, &cleaned);
    task.flags = NORN_RUN_ALWAYS;
    task.after = &held;
    task.after_count = 1;
    submit(rt, &task);
    CHECK_STATUS(norn_close_with(rt, NORN_CANCEL, FOREVER), NORN_E_CLOSED);
    CHECK_EQUAL(cleaned, 1);
    CHECK_EQUAL(dropped, 1);
    return 0;
}
