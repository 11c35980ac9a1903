/* With on_failure = abort the first failure is printed and the process ends by SIGABRT. */
#include "check.h"

static int32_t body(norn_self *self, void *arg) {
    (void)arg;
    return norn_self_fail(self, 3, "the reactor is on fire");
}

int main(void) {
    int fds[2];
    CHECK(pipe(fds) == 0);
    const pid_t child = fork(); /* before norn is used, so the child may use it */
    CHECK(child >= 0);
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(fds[1], STDERR_FILENO);
        close(fds[0]);
        close(fds[1]);
        norn_config config = NORN_CONFIG_INIT;
        config.on_failure = NORN_ON_FAILURE_ABORT;
        norn_runtime *rt = open_with(&config);
        norn_task task = task_of(body, NULL);
        task.name = "reactor";
        norn_await(rt, submit(rt, &task), FOREVER);
        sleep_ms(10000);
        _exit(0);
    }
    close(fds[1]);
    char text[4096];
    size_t length = 0;
    ssize_t got;
    while ((got = read(fds[0], text + length, sizeof text - 1 - length)) > 0) length += (size_t)got;
    text[length] = 0;
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK_TEXT(text, "reactor");
    CHECK_TEXT(text, "the reactor is on fire");
    return 0;
}
