/* The watchdog names what is waited for when nothing has completed for its time. */
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char lines[1 << 16];
static atomic_int warned;
static void sink(void *arg, int32_t level, const char *text) {
    (void)arg;
    pthread_mutex_lock(&lock);
    if (level == NORN_LOG_WARN && strlen(lines) + strlen(text) + 2 < sizeof lines) {
        strcat(lines, text);
        strcat(lines, "\n");
        atomic_fetch_add(&warned, 1);
    }
    pthread_mutex_unlock(&lock);
}
static int says(const char *part) {
    pthread_mutex_lock(&lock);
    const int found = strstr(lines, part) != NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    config.watchdog_ns = 100 * MILLISECOND;
    config.log = sink;
    norn_runtime *rt = open_with(&config);

    /* Idle with nothing pending is no reason to speak. */
    CHECK_OK(norn_await(rt, submit_run(rt, body_nothing, NULL), FOREVER));
    const int before = warned;
    sleep_ms(400);
    CHECK_EQUAL(warned, before);

    norn_token inbox = promised(rt, "inbox"), unbound = declared(rt, "the missing producer");
    norn_task task = task_of(body_nothing, NULL);
    norn_token both[2] = {inbox, unbound};
    task.name = "patient consumer";
    task.after = both;
    task.after_count = 2;
    norn_token token = submit(rt, &task);
    const int64_t until = now_ns() + 20 * SECOND;
    while (!(says("inbox") && says("the missing producer"))) {
        CHECK(now_ns() < until);
        CHECK_STATUS(norn_await(rt, token, 200 * MILLISECOND), NORN_E_TIMEOUT);
    }
    CHECK(!is_done(rt, token));
    CHECK_OK(norn_fulfill(rt, inbox));
    CHECK_OK(norn_cancel(rt, unbound));
    CHECK_STATUS(norn_await(rt, token, FOREVER), NORN_E_PROPAGATED);
    CHECK_OK(norn_close(rt));
    return 0;
}
