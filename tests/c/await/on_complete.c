/* A completion callback runs once, never inside the call that asks for it, before and after completion alike. */
#include "check.h"

static norn_runtime *rt;
static _Thread_local int asking;
static atomic_int called[6], submitted_from_callback;
static norn_token from_callback;

typedef struct expectation {
    int number;
    norn_status status;
    norn_token token;
} expectation;

static void note(void *arg, norn_token token, norn_status status) {
    const expectation *expected = arg;
    CHECK_EQUAL(asking, 0);
    CHECK_EQUAL(status, expected->status);
    CHECK(token.id == expected->token.id);
    atomic_fetch_add(&called[expected->number], 1);
}
static void submit_more(void *arg, norn_token token, norn_status status) {
    (void)token;
    CHECK_OK(status);
    submit_run(rt, body_count, &submitted_from_callback);
    CHECK_OK(norn_fulfill(rt, *(norn_token *)arg));
}
static void ask(norn_token token, expectation *expected) {
    expected->token = token;
    asking = 1;
    CHECK_OK(norn_on_complete(rt, token, note, expected));
    asking = 0;
}

int main(void) {
    rt = open_plain();
    expectation ok = {0, NORN_OK, {0}}, late = {1, NORN_OK, {0}}, failed = {2, NORN_E_TASK_FAILED, {0}},
                propagated = {3, NORN_E_PROPAGATED, {0}}, cancelled = {4, NORN_E_CANCELLED, {0}},
                closed = {5, NORN_E_CLOSED, {0}};
    norn_token gate = promised(rt, "gate");
    norn_token good = submit_after(rt, body_nothing, NULL, gate);
    norn_token bad = submit_after(rt, body_fail, NULL, gate);
    norn_token behind = submit_after(rt, body_must_not_run, NULL, bad);
    norn_token stopped = submit_after(rt, body_must_not_run, NULL, gate);
    norn_token never = promised(rt, "never");
    ask(good, &ok);
    ask(bad, &failed);
    ask(behind, &propagated);
    ask(stopped, &cancelled);
    ask(never, &closed);
    for (int i = 0; i < 6; i++) CHECK_EQUAL(called[i], 0);
    CHECK_OK(norn_cancel(rt, stopped));
    CHECK_OK(norn_fulfill(rt, gate));
    PROGRESS_UNTIL(rt, called[0] && called[2] && called[3] && called[4]);

    /* Complete already. */
    ask(good, &late);
    PROGRESS_UNTIL(rt, called[1]);

    /* A callback may submit and fulfil. */
    from_callback = promised(rt, "from a callback");
    norn_token trigger = submit_run(rt, body_nothing, NULL);
    CHECK_OK(norn_on_complete(rt, trigger, submit_more, &from_callback));
    CHECK_OK(norn_await(rt, from_callback, FOREVER));
    PROGRESS_UNTIL(rt, submitted_from_callback == 1);

    CHECK_EQUAL(called[5], 0);
    CHECK_STATUS(norn_await(rt, bad, FOREVER), NORN_E_TASK_FAILED);
    norn_close(rt);
    for (int i = 0; i < 6; i++) CHECK_EQUAL(called[i], 1);
    return 0;
}
