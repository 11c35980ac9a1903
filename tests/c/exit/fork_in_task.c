/* A body may fork and let the child leave; the runtime goes on. */
#include "check.h"

static atomic_int ran;
static int32_t fork_here(norn_self *self, void *arg) {
    norn_self_info info = NORN_SELF_INFO_INIT;
    (void)arg;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(norn_self_get(self, &info) == NORN_E_FORKED ? 0 : 5);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    atomic_fetch_add(&ran, 1);
    return 0;
}
int main(void) {
    norn_runtime *rt = open_plain();
    for (int i = 0; i < 10; i++) submit_run(rt, fork_here, NULL);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(ran, 10);
    CHECK_OK(norn_close(rt));
    return 0;
}
