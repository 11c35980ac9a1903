/* Closing an eventfd before its token completes is the caller's right and hits no other file. */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token gates[16];
    int32_t fds[16];
    int mine[16];
    for (int i = 0; i < 16; i++) {
        gates[i] = promised(rt, "gate");
        CHECK_OK(norn_eventfd(rt, gates[i], &fds[i]));
    }
    for (int i = 0; i < 16; i++) close(fds[i]);
    /* The numbers now belong to files that norn has nothing to do with. */
    for (int i = 0; i < 16; i++) CHECK((mine[i] = eventfd(0, EFD_NONBLOCK)) >= 0);
    for (int i = 0; i < 16; i++) CHECK_OK(norn_fulfill(rt, gates[i]));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_OK(norn_close(rt));
    for (int i = 0; i < 16; i++) {
        struct pollfd poll_of = {mine[i], POLLIN, 0};
        CHECK(poll(&poll_of, 1, 0) == 0);
        CHECK(fcntl(mine[i], F_GETFD) >= 0);
        close(mine[i]);
    }
    return 0;
}
