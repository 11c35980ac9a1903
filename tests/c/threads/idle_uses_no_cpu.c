/* An idle runtime, a sleeping body and a blocked await use next to no processor time. */
#include "check.h"

static int32_t sleep_long(norn_self *self, void *arg) {
    (void)self;
    sleep_ms(*(int64_t *)arg);
    return 0;
}

struct late {
    norn_runtime *rt;
    norn_token token;
    int64_t ms;
};
static void *fulfil_late(void *arg) {
    const struct late *late = arg;
    sleep_ms(late->ms);
    CHECK_OK(norn_fulfill(late->rt, late->token));
    return NULL;
}

int main(void) {
    int64_t ms = scaled(2000, 10000);
    norn_runtime *rt = open_workers(2);
    CHECK_OK(norn_await(rt, submit_run(rt, body_nothing, NULL), FOREVER));

    int64_t before = cpu_ns();
    sleep_ms(ms);
    const int64_t idle = cpu_ns() - before;

    before = cpu_ns();
    CHECK_OK(norn_await(rt, submit_run(rt, sleep_long, &ms), FOREVER));
    const int64_t sleeping = cpu_ns() - before;

    norn_token never = promised(rt, "never in time");
    before = cpu_ns();
    CHECK_STATUS(norn_await(rt, never, ms * MILLISECOND), NORN_E_TIMEOUT);
    const int64_t waiting = cpu_ns() - before;
    CHECK_OK(norn_fulfill(rt, never));
    CHECK_OK(norn_close(rt));

    rt = open_workers(0); /* the waiting thread is the only one */
    never = promised(rt, "never in time");
    before = cpu_ns();
    CHECK_STATUS(norn_await(rt, never, ms * MILLISECOND), NORN_E_TIMEOUT);
    const int64_t alone = cpu_ns() - before;

    /* Without a limit too. */
    pthread_t thread;
    struct late late = {rt, never, ms};
    before = cpu_ns();
    CHECK(pthread_create(&thread, NULL, fulfil_late, &late) == 0);
    CHECK_OK(norn_await(rt, never, FOREVER));
    const int64_t unlimited = cpu_ns() - before;
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_OK(norn_close(rt));

    printf("cpu ms: idle %.1f, sleeping body %.1f, waiting %.1f, waiting without workers %.1f, without limit %.1f\n", (double)idle * 1e-6,
           (double)sleeping * 1e-6, (double)waiting * 1e-6, (double)alone * 1e-6, (double)unlimited * 1e-6);
    CHECK(idle < 100 * MILLISECOND);
    CHECK(sleeping < 300 * MILLISECOND);
    CHECK(waiting < 300 * MILLISECOND);
    CHECK(alone < 300 * MILLISECOND);
    CHECK(unlimited < 300 * MILLISECOND);
    return 0;
}
