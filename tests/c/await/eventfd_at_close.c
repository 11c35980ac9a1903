/* An eventfd becomes readable too when the close ends its token. */
#include "check.h"

#include <poll.h>

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token never = promised(rt, "never"), behind = submit_after(rt, body_must_not_run, NULL, never);
    int32_t fds[2];
    CHECK_OK(norn_eventfd(rt, never, &fds[0]));
    CHECK_OK(norn_eventfd(rt, behind, &fds[1]));
    norn_close(rt);
    for (int i = 0; i < 2; i++) {
        struct pollfd poll_of = {fds[i], POLLIN, 0};
        CHECK(poll(&poll_of, 1, 0) == 1 && (poll_of.revents & POLLIN));
        close(fds[i]);
    }
    return 0;
}
