/* An await returns when its task is done, however long other tasks take. */
#include "check.h"

static norn_runtime *rt;
static int32_t sleep_10_ms(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    sleep_ms(10);
    return 0;
}
static int32_t sleep_1_s(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    sleep_ms(1000);
    return 0;
}
static void short_beside_long(int long_first) {
    const int64_t begin = now_ns();
    norn_token brief, lengthy = {0};
    if (long_first) lengthy = submit_run(rt, sleep_1_s, NULL);
    brief = submit_run(rt, sleep_10_ms, NULL);
    if (!long_first) lengthy = submit_run(rt, sleep_1_s, NULL);
    CHECK_OK(norn_await(rt, brief, FOREVER));
    CHECK(now_ns() - begin < 700 * MILLISECOND);
    CHECK(!is_done(rt, lengthy));
}
static int32_t from_a_body(norn_self *self, void *arg) {
    (void)self;
    short_beside_long(*(int *)arg);
    return 0;
}

int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    config.workers = 2;
    rt = open_with(&config);
    int yes = 1, no = 0;
    short_beside_long(1);
    CHECK_OK(norn_drain(rt, FOREVER));
    short_beside_long(0);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_OK(norn_await(rt, submit_run(rt, from_a_body, &yes), FOREVER));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_OK(norn_await(rt, submit_run(rt, from_a_body, &no), FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
