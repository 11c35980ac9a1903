/* norn_await_all waits for every token and reports the first failed one of the array. */
#include "check.h"

enum { TASKS = 2000 };
static atomic_int ran;
static norn_token tokens[TASKS];

int main(void) {
    norn_runtime *rt = open_plain();
    int nine = 9, eight = 8;
    for (int i = 0; i < TASKS; i++) tokens[i] = submit_run(rt, body_count, &ran);
    CHECK_OK(norn_await_all(rt, tokens, TASKS, FOREVER));
    CHECK_EQUAL(ran, TASKS);

    /* The order in the array counts, not the order in time. */
    norn_token gate = promised(rt, "gate");
    tokens[0] = submit_run(rt, body_nothing, NULL);
    tokens[1] = submit_after(rt, body_must_not_run, NULL, gate); /* will be cancelled, last */
    tokens[2] = submit_run(rt, body_fail, &nine);
    tokens[3] = submit_run(rt, body_fail, &eight);
    CHECK_STATUS(norn_await(rt, tokens[2], FOREVER), NORN_E_TASK_FAILED);
    /* One failure does not end the wait for the others. */
    CHECK_STATUS(norn_await_all(rt, tokens, 4, 20 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_OK(norn_cancel(rt, tokens[1]));
    CHECK_STATUS(norn_await_all(rt, tokens, 4, FOREVER), NORN_E_CANCELLED);
    CHECK_STATUS(norn_await_all(rt, tokens + 2, 2, FOREVER), NORN_E_TASK_FAILED);
    /* The same token several times, and complete ones among them. */
    norn_token same[4] = {tokens[0], tokens[0], {0}, tokens[0]};
    CHECK_OK(norn_await_all(rt, same, 4, FOREVER));
    CHECK_OK(norn_fulfill(rt, gate));
    norn_close(rt);
    return 0;
}
