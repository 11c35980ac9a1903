/* An await with a limit gives NORN_E_TIMEOUT, not before its time, and changes nothing. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token gate = promised(rt, "gate");
    norn_token task = submit_after(rt, body_nothing, NULL, gate);
    norn_token both[2] = {gate, task};
    uint64_t index = 55;

    CHECK_STATUS(norn_await(rt, task, 0), NORN_E_TIMEOUT);
    CHECK_STATUS(norn_await_all(rt, both, 2, 0), NORN_E_TIMEOUT);
    CHECK_STATUS(norn_await_any(rt, both, 2, 0, &index), NORN_E_TIMEOUT);
    CHECK_STATUS(norn_drain(rt, 0), NORN_E_TIMEOUT);

    const int64_t limit = 30 * MILLISECOND;
    for (int which = 0; which < 4; which++) {
        const int64_t begin = now_ns();
        if (which == 0) CHECK_STATUS(norn_await(rt, task, limit), NORN_E_TIMEOUT);
        if (which == 1) CHECK_STATUS(norn_await_all(rt, both, 2, limit), NORN_E_TIMEOUT);
        if (which == 2) CHECK_STATUS(norn_await_any(rt, both, 2, limit, &index), NORN_E_TIMEOUT);
        if (which == 3) CHECK_STATUS(norn_drain(rt, limit), NORN_E_TIMEOUT);
        CHECK(now_ns() - begin >= limit);
    }
    CHECK_EQUAL(index, 55);

    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_await(rt, task, INT64_MAX)); /* an absurd limit is not a negative one */
    CHECK_OK(norn_await(rt, task, 0));
    CHECK_OK(norn_await(rt, task, INT64_MIN));
    CHECK_OK(norn_drain(rt, 0));
    CHECK_OK(norn_close(rt));
    return 0;
}
