/* norn_await_any returns with the first of the array that is complete. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token tokens[4];
    uint64_t index = 77;
    for (int i = 0; i < 4; i++) tokens[i] = promised(rt, "any");
    CHECK_STATUS(norn_await_any(rt, NULL, 0, FOREVER, &index), NORN_E_INVALID);
    CHECK_STATUS(norn_await_any(rt, tokens, 4, FOREVER, NULL), NORN_E_INVALID);
    CHECK_STATUS(norn_await_any(rt, tokens, 4, 10 * MILLISECOND, &index), NORN_E_TIMEOUT);
    CHECK_EQUAL(index, 77);

    CHECK_OK(norn_fulfill(rt, tokens[2]));
    CHECK_OK(norn_await_any(rt, tokens, 4, FOREVER, &index));
    CHECK_EQUAL(index, 2);
    CHECK_OK(norn_fulfill(rt, tokens[1]));
    CHECK_OK(norn_await_any(rt, tokens, 4, FOREVER, &index));
    CHECK_EQUAL(index, 1);

    /* How it ended is the result, and the index is there for a failure too. */
    CHECK_OK(norn_fail(rt, tokens[0], 6, "six"));
    index = 77;
    CHECK_STATUS(norn_await_any(rt, tokens, 4, FOREVER, &index), NORN_E_TASK_FAILED);
    CHECK_EQUAL(index, 0);

    /* One that completes while we wait. */
    norn_token pending[2] = {tokens[3], submit_run(rt, body_nothing, NULL)};
    CHECK_OK(norn_await_any(rt, pending, 2, FOREVER, &index));
    CHECK_EQUAL(index, 1);
    CHECK_OK(norn_fulfill(rt, tokens[3]));
    CHECK_OK(norn_close(rt));
    return 0;
}
