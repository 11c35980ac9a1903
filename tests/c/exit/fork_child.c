/* In a forked child every call answers NORN_E_FORKED, leaving works in every way, and the parent is unharmed. */
#include "check.h"

static norn_runtime *rt;
static norn_token never, finished, unbound;
static norn_data data;
static atomic_int ran;

static int calls_in_child(void) {
    norn_task task = task_of(body_must_not_run, NULL);
    norn_token token = {5};
    int32_t done;
    norn_runtime *fresh = NULL;
    norn_status answers[] = {
        norn_submit(rt, &task, &token),   norn_await(rt, finished, FOREVER), norn_await(rt, never, FOREVER), norn_drain(rt, FOREVER),
        norn_test(rt, finished, &done),   norn_fulfill(rt, never),           norn_cancel(rt, unbound),       norn_declare(rt, "x", &token),
        norn_data_unregister(rt, data),   norn_progress(rt),                 norn_seal(rt),                  norn_close_with(rt, NORN_CANCEL, 0),
        norn_close(rt),                   norn_open(NULL, &fresh),
    };
    for (size_t i = 0; i < COUNT_OF(answers); i++)
        if (answers[i] != NORN_E_FORKED) {
            fprintf(stderr, "call %zu in the child: %s\n", i, norn_status_name(answers[i]));
            return 10 + (int)i;
        }
    if (token.id != 5 || fresh != NULL || norn_last_error()[0] == 0) return 40;
    return 0;
}
static void close_at_exit(void) {
    if (norn_close(rt) != NORN_E_FORKED) _exit(41);
}
static void wait_for_child(pid_t child, int expected) {
    int status = -1;
    const int64_t until = now_ns() + 20 * SECOND;
    pid_t got;
    while ((got = waitpid(child, &status, WNOHANG)) == 0) {
        if (now_ns() > until) kill(child, SIGKILL);
        sleep_ms(1);
    }
    CHECK(got == child);
    CHECK(WIFEXITED(status));
    CHECK_EQUAL(WEXITSTATUS(status), expected);
}
static int32_t run_system(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    return system("true");
}

int main(void) {
    rt = open_plain();
    int value = 0;
    data = DATUM(rt, value);
    never = promised(rt, "never in the child");
    unbound = declared(rt, "unbound");
    finished = submit_run(rt, body_nothing, NULL);
    CHECK_OK(norn_await(rt, finished, FOREVER));
    for (int way = 0; way < 6; way++) {
        for (int i = 0; i < 50; i++) submit_run(rt, body_count, &ran); /* busy while it forks */
        fflush(stdout);
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            if (way == 0) _exit(0);
            if (way == 1) exit(0);
            if (way == 2) {
                execl("/bin/true", "true", (char *)NULL);
                _exit(42);
            }
            if (way == 3) _exit(calls_in_child());
            if (way == 4) {
                if (atexit(close_at_exit) != 0) _exit(43);
                exit(calls_in_child());
            }
            /* A grandchild is no better off. */
            const pid_t grandchild = fork();
            if (grandchild == 0) _exit(calls_in_child());
            int status = -1;
            waitpid(grandchild, &status, 0);
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 44);
        }
        wait_for_child(child, 0);
        CHECK_OK(norn_await(rt, submit_run(rt, body_count, &ran), FOREVER));
    }
    CHECK_OK(norn_await(rt, submit_run(rt, run_system, NULL), FOREVER));
    CHECK_OK(norn_fulfill(rt, never));
    CHECK_OK(norn_cancel(rt, unbound));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(ran, 6 * 51);
    CHECK_OK(norn_close(rt));
    return 0;
}
