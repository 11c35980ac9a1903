/* Default-stream mode runs host work as async mode does. */
#include "check.h"

static atomic_int inside;
static int32_t meet(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    atomic_fetch_add(&inside, 1);
    WAIT_FOR(inside == 2);
    return 0;
}

int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    config.mode = NORN_MODE_DEFAULT_STREAM;
    config.workers = 2;
    norn_runtime *rt = open_with(&config);
    CHECK_EQUAL(stats_of(rt).mode, NORN_MODE_DEFAULT_STREAM);
    for (int i = 0; i < 2; i++) submit_run(rt, meet, NULL);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
