/* A process that forks before it uses norn may use it on both sides. */
#include "check.h"

static atomic_int ran;
int main(void) {
    const pid_t child = fork();
    CHECK(child >= 0);
    norn_runtime *rt = open_plain();
    for (int i = 0; i < 100; i++) submit_run(rt, body_count, &ran);
    CHECK_OK(norn_close(rt));
    CHECK_EQUAL(ran, 100);
    if (child == 0) exit(0);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}
