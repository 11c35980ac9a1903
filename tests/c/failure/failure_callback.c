/* With on_failure = call the callback gets each first cause once, and no propagated failure. */
#include "check.h"

static atomic_int calls, code_sum;
static norn_runtime *rt;
static norn_token reply;

static void on_failure(void *arg, const norn_error_info *info) {
    CHECK(arg == &calls);
    CHECK_EQUAL(info->status, NORN_E_TASK_FAILED);
    CHECK(info->token.id == info->cause.id);
    CHECK(strcmp(info->text, "asked to fail") == 0);
    atomic_fetch_add(&code_sum, info->code);
    if (atomic_fetch_add(&calls, 1) == 0) CHECK_OK(norn_fulfill(rt, reply)); /* may fulfil */
}

int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    config.on_failure = NORN_ON_FAILURE_CALL;
    config.failure = on_failure;
    config.failure_arg = &calls;
    rt = open_with(&config);
    reply = promised(rt, "reply");
    int codes[10], sum = 0;
    for (int i = 0; i < 10; i++) {
        codes[i] = 1 << i;
        sum += codes[i];
        norn_token token = submit_run(rt, body_fail, &codes[i]);
        for (int k = 0; k < 10; k++) token = submit_after(rt, body_must_not_run, NULL, token);
    }
    CHECK_OK(norn_await(rt, reply, FOREVER));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(calls, 10);
    CHECK_EQUAL(code_sum, sum);
    norn_token promise = promised(rt, "promise");
    CHECK_OK(norn_fail(rt, promise, 1 << 12, "asked to fail"));
    PROGRESS_UNTIL(rt, calls == 11);
    CHECK_EQUAL(code_sum, sum + (1 << 12));
    norn_close(rt);
    CHECK_EQUAL(calls, 11);
    return 0;
}
