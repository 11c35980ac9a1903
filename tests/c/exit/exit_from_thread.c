/* exit(0) from a thread that is not main ends the process with 0 while main waits. */
#include "check.h"

static norn_runtime *rt;
static void *leave(void *arg) {
    (void)arg;
    for (int i = 0; i < 100; i++) submit_run(rt, body_nothing, NULL);
    sleep_ms(20);
    exit(0);
}
int main(void) {
    rt = open_plain();
    norn_token never = promised(rt, "never");
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, leave, NULL) == 0);
    norn_await(rt, never, 20 * SECOND);
    return 1;
}
