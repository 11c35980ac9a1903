/* What somebody may still complete is no deadlock, however long it takes. */
#include "check.h"

static norn_runtime *rt;
static atomic_int ran;
static void *serve_late(void *arg) {
    norn_token *tokens = arg;
    sleep_ms(100);
    CHECK_OK(norn_fulfill(rt, tokens[0]));
    sleep_ms(50);
    norn_task task = task_of(body_count, &ran);
    task.as = tokens[1];
    submit(rt, &task);
    return NULL;
}

int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    config.watchdog_ns = 20 * MILLISECOND; /* it speaks, and changes nothing */
    rt = open_with(&config);
    norn_token tokens[2] = {promised(rt, "promise"), declared(rt, "unbound")};
    norn_task task = task_of(body_count, &ran);
    task.after = tokens;
    task.after_count = 2;
    norn_token token = submit(rt, &task);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, serve_late, tokens) == 0);
    CHECK_OK(norn_await(rt, token, FOREVER));
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(ran, 2);
    CHECK_OK(norn_close(rt));
    return 0;
}
