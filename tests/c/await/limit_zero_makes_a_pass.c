/* An await with a limit of 0 never waits, but makes a pass: polling with it alone goes on where no workers are. */
#include "check.h"

int main(void) {
    atomic_int ran = 0;
    norn_runtime *rt = open_plain();
    norn_token token = submit_run(rt, body_count, &ran), never = promised(rt, "never");
    const int64_t until = now_ns() + 20 * SECOND;
    norn_status status;
    while ((status = norn_await(rt, token, 0)) == NORN_E_TIMEOUT) CHECK(now_ns() < until);
    CHECK_OK(status);
    CHECK_EQUAL(ran, 1);
    CHECK_STATUS(norn_await(rt, never, 0), NORN_E_TIMEOUT);
    CHECK_OK(norn_fulfill(rt, never));
    CHECK_OK(norn_close(rt));
    return 0;
}
