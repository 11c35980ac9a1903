/* Asynchronous signals are blocked on norn's threads and reach the application's. */
#include "check.h"

static long opener;
static atomic_int received;
static void handler(int signal) {
    (void)signal;
    if ((long)syscall(SYS_gettid) == opener) atomic_fetch_add(&received, 1);
    else _exit(3);
}
static int32_t check_mask(norn_self *self, void *arg) {
    const int blocked[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD};
    const int open[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL}; /* a thread's own faults are its own */
    sigset_t mask;
    (void)self;
    (void)arg;
    CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0);
    for (size_t i = 0; i < COUNT_OF(blocked); i++) CHECK(sigismember(&mask, blocked[i]) == 1);
    for (size_t i = 0; i < COUNT_OF(open); i++) CHECK(sigismember(&mask, open[i]) == 0);
    return 0;
}
static void *kill_often(void *arg) {
    (void)arg;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    for (int i = 0; i < 20; i++) {
        sleep_ms(5);
        kill(getpid(), i % 2 ? SIGINT : SIGUSR1);
    }
    return NULL;
}

int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler; /* without SA_RESTART: waits are interrupted, and go on */
    CHECK(sigaction(SIGINT, &action, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
    opener = thread_id();
    sigset_t before, after;
    CHECK(pthread_sigmask(SIG_SETMASK, NULL, &before) == 0);
    norn_runtime *rt = open_workers(3);
    CHECK(pthread_sigmask(SIG_SETMASK, NULL, &after) == 0);
    for (int i = 1; i < 32; i++) CHECK_EQUAL(sigismember(&after, i), sigismember(&before, i));
    for (int i = 0; i < 30; i++) submit_run(rt, check_mask, NULL);
    CHECK_OK(norn_drain(rt, FOREVER));

    norn_token gate = promised(rt, "gate");
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, kill_often, NULL) == 0);
    const int64_t begin = now_ns();
    CHECK_STATUS(norn_await(rt, gate, 300 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK(now_ns() - begin >= 300 * MILLISECOND); /* a signal is no time-out */
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(received > 0);
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_close(rt));
    return 0;
}
