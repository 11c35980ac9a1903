/* Where the submitter itself is the only worker and may run bodies in a submit, max_live_tasks is never passed. */
#include "check.h"

static atomic_int ran;
int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    config.workers = 1;
    config.max_live_tasks = 50;
    config.flags = NORN_CALLER_WORKS | NORN_SUBMIT_HELPS;
    norn_runtime *rt = open_with(&config);
    for (int i = 0; i < 2000; i++) {
        submit_run(rt, body_count, &ran);
        CHECK(stats_of(rt).live <= 50);
    }
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(ran, 2000);
    CHECK_OK(norn_close(rt));
    return 0;
}
