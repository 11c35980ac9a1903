/* An eventfd of a token becomes readable when the token completes, and can be polled with others. */
#include "check.h"

#include <poll.h>

static int readable(int fd, int timeout_ms) {
    struct pollfd poll_of = {fd, POLLIN, 0};
    CHECK(poll(&poll_of, 1, timeout_ms) >= 0);
    return (poll_of.revents & POLLIN) != 0;
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token gate = promised(rt, "gate"), bad = promised(rt, "bad");
    norn_token task = submit_after(rt, body_nothing, NULL, gate);
    int32_t of_task = -1, of_bad = -1, again = -1, after = -1;
    CHECK_OK(norn_eventfd(rt, task, &of_task));
    CHECK_OK(norn_eventfd(rt, task, &again));
    CHECK_OK(norn_eventfd(rt, bad, &of_bad));
    CHECK(of_task >= 0 && again >= 0 && of_bad >= 0 && of_task != again);
    CHECK(!readable(of_task, 20) && !readable(of_bad, 0));

    CHECK_OK(norn_fulfill(rt, gate));
    if (runs_inside_calls_only(rt)) CHECK_OK(norn_await(rt, task, FOREVER));
    CHECK(readable(of_task, 20000));
    CHECK(readable(again, 20000));
    CHECK(is_done(rt, task));
    CHECK(!readable(of_bad, 0));

    CHECK_OK(norn_fail(rt, bad, 1, "failures count"));
    CHECK(readable(of_bad, 20000));
    CHECK_STATUS(norn_await(rt, bad, FOREVER), NORN_E_TASK_FAILED);

    /* Asked for when it is complete already. */
    CHECK_OK(norn_eventfd(rt, task, &after));
    CHECK(readable(after, 20000));
    close(of_task);
    close(again);
    close(of_bad);
    CHECK_OK(norn_close(rt));
    CHECK(readable(after, 0)); /* ours, also after the runtime */
    close(after);
    return 0;
}
