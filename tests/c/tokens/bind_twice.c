/* A declared token is bound once; the second task is refused and nothing of it is taken. */
#include "check.h"

static atomic_int ran, dropped;

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token token = declared(rt, "once");
    norn_token gate = promised(rt, "gate");

    norn_task task = task_of(body_count, &ran);
    task.as = token;
    task.after = &gate;
    task.after_count = 1;
    submit(rt, &task);

    norn_task again = task_of(body_must_not_run, &dropped);
    again.drop = drop_count;
    again.as = token;
    norn_token out = {77};
    CHECK_STATUS(norn_submit(rt, &again, &out), NORN_E_STATE);
    CHECK_EQUAL(out.id, 77);

    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_await(rt, token, FOREVER));
    CHECK_STATUS(norn_submit(rt, &again, &out), NORN_E_STATE);

    /* A promise is completed by foreign code, never by a task. */
    norn_token promise = promised(rt, "promise");
    again.as = promise;
    CHECK_ERROR(norn_submit(rt, &again, &out));
    CHECK_OK(norn_fulfill(rt, promise));

    CHECK_EQUAL(out.id, 77);
    CHECK_EQUAL(ran, 1);
    CHECK_OK(norn_close(rt));
    CHECK_EQUAL(dropped, 0);
    return 0;
}
