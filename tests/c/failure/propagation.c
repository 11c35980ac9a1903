/* Dependants of a failed task do not run; each points to the first cause, by every kind of edge. */
#include "check.h"

static int32_t fail_11(norn_self *self, void *arg) {
    (void)arg;
    return norn_self_fail(self, 11, "the first cause");
}
static void check_propagated(norn_runtime *rt, norn_token token, norn_token cause) {
    CHECK_STATUS(norn_await(rt, token, FOREVER), NORN_E_PROPAGATED);
    CHECK_SAYS("the first cause");
    norn_error_info info = record_of(rt, token);
    CHECK_EQUAL(info.status, NORN_E_PROPAGATED);
    CHECK_EQUAL(info.cause_status, NORN_E_TASK_FAILED);
    CHECK_EQUAL(info.code, 11);
    CHECK(info.token.id == token.id && info.cause.id == cause.id);
    CHECK(strcmp(info.task, "origin") == 0);
    CHECK(strcmp(info.text, "the first cause") == 0);
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token gate = promised(rt, "gate");
    int value = 0;
    norn_data data = DATUM(rt, value);
    norn_access access = norn_write(data);
    norn_task task = task_of(fail_11, NULL);
    task.name = "origin";
    task.after = &gate;
    task.after_count = 1;
    task.accesses = &access;
    task.access_count = 1;
    norn_token origin = submit(rt, &task);

    norn_token by_after = submit_after(rt, body_must_not_run, NULL, origin);
    norn_token second = submit_after(rt, body_must_not_run, NULL, by_after);
    norn_token by_data = submit_on(rt, body_must_not_run, NULL, norn_read(data));
    norn_token unbound = declared(rt, "unbound");
    CHECK_OK(norn_edge(rt, second, unbound));
    norn_task binder = task_of(body_must_not_run, NULL);
    binder.as = unbound;
    submit(rt, &binder);
    binder.as.id = 0;
    binder.flags = NORN_HELD;
    norn_token held = submit(rt, &binder);
    CHECK_OK(norn_edge(rt, origin, held));
    CHECK_OK(norn_start(rt, held));

    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_STATUS(norn_await(rt, origin, FOREVER), NORN_E_TASK_FAILED);
    check_propagated(rt, by_after, origin);
    check_propagated(rt, second, origin);
    check_propagated(rt, by_data, origin);
    check_propagated(rt, unbound, origin);
    check_propagated(rt, held, origin);

    /* Submitted when it is all over. */
    check_propagated(rt, submit_after(rt, body_must_not_run, NULL, second), origin);
    check_propagated(rt, submit_on(rt, body_must_not_run, NULL, norn_read(data)), origin);
    CHECK_OK(norn_close(rt));
    return 0;
}
