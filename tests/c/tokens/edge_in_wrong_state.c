/* An edge to a task that was let go is NORN_E_STATE every time, never a race. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token gate = promised(rt, "gate");
    norn_token blocked = submit_after(rt, body_nothing, NULL, gate);

    norn_task task = task_of(body_nothing, NULL);
    task.flags = NORN_HELD;
    norn_token started = submit(rt, &task);
    CHECK_OK(norn_edge(rt, gate, started));
    CHECK_OK(norn_start(rt, started));

    norn_token bound = declared(rt, "bound");
    norn_task binder = task_of(body_nothing, NULL);
    binder.as = bound;
    binder.after = &gate;
    binder.after_count = 1;
    submit(rt, &binder);

    norn_token finished = submit_run(rt, body_nothing, NULL);
    CHECK_OK(norn_await(rt, finished, FOREVER));
    norn_group group;
    norn_token done;
    CHECK_OK(norn_group_open(rt, "group", (norn_group){0}, &group, &done));
    norn_token promise = promised(rt, "promise");

    const norn_token wrong[] = {blocked, started, bound, finished, done, promise, {0}};
    norn_token before = promised(rt, "before");
    for (int repeat = 0; repeat < 3; repeat++)
        for (size_t i = 0; i < COUNT_OF(wrong); i++) {
            CHECK_STATUS(norn_edge(rt, before, wrong[i]), NORN_E_STATE);
            CHECK_STATUS(norn_edge(rt, finished, wrong[i]), wrong[i].id == finished.id ? NORN_E_INVALID : NORN_E_STATE);
        }

    /* Tasks that may run, run or are over while the edge is asked for. */
    for (int i = 0; i < 2000; i++) {
        norn_token racing = submit_run(rt, body_nothing, NULL);
        CHECK_STATUS(norn_edge(rt, before, racing), NORN_E_STATE);
    }
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_fulfill(rt, before));
    CHECK_OK(norn_fulfill(rt, promise));
    CHECK_OK(norn_group_close(rt, group));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
