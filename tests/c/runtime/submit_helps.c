/* With NORN_SUBMIT_HELPS a submit above the ceiling may run bodies, and still every task runs once. */
#include "check.h"

static atomic_int ran;
int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    config.max_live_tasks = 50;
    config.flags = NORN_SUBMIT_HELPS;
    norn_runtime *rt = open_with(&config);
    for (int i = 0; i < 20000; i++) submit_run(rt, body_count, &ran);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(ran, 20000);
    CHECK_OK(norn_close(rt));
    return 0;
}
