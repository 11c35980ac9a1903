/* Unknown or malformed variables and fields out of range are errors at open that name the culprit. */
#include "check.h"

static void refuse(const norn_config *config, const char *says) {
    norn_runtime *rt = NULL;
    CHECK_STATUS(norn_open(config, &rt), NORN_E_CONFIG);
    CHECK_SAYS(says);
    CHECK(rt == NULL);
}

int main(void) {
    const char *bad[][2] = {{"NORN_FOO", "1"},       {"NORN_WORKER", "2"},     {"NORN_WORKERS", "two"}, {"NORN_WORKERS", "-7"},
                            {"NORN_WORKERS", "2x"},  {"NORN_WORKERS", "99999999999999999999"}, {"NORN_MODE", "bogus"},
                            {"NORN_MODE", "shuffle:abc"}, {"NORN_MODE", "shuffle:"}, {"NORN_MODE", "SYNC2"}, {"NORN_MODE", "sync:1"}};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CHECK(setenv(bad[i][0], bad[i][1], 1) == 0);
        refuse(NULL, bad[i][0]);
        if (i == 0) { /* the list of the known ones */
            CHECK_SAYS("NORN_WORKERS");
            CHECK_SAYS("NORN_MODE");
        }
        CHECK(unsetenv(bad[i][0]) == 0);
    }

    norn_config config = NORN_CONFIG_INIT;
    config.workers = -2;
    refuse(&config, "workers");
    config.workers = 1 << 30;
    refuse(&config, "workers");
    config = (norn_config)NORN_CONFIG_INIT;
    config.mode = 4;
    refuse(&config, "mode");
    config.mode = -1;
    refuse(&config, "mode");
    config = (norn_config)NORN_CONFIG_INIT;
    config.on_failure = 3;
    refuse(&config, "on_failure");
    config.on_failure = NORN_ON_FAILURE_CALL; /* and nobody to call */
    refuse(&config, "failure");
    config = (norn_config)NORN_CONFIG_INIT;
    config.flags = UINT64_C(1) << 63;
    refuse(&config, "flags");
    config = (norn_config)NORN_CONFIG_INIT;
    config.max_threads = -1;
    refuse(&config, "max_threads");
    config.max_threads = 1;
    config.workers = 4;
    refuse(&config, "max_threads");
    const char *lists[] = {"abc", "3-1", "0-", "-", "0,,1", "99999", "0-99999999", ",", "0x1"};
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        config = (norn_config)NORN_CONFIG_INIT;
        config.cpus = lists[i];
        refuse(&config, "cpus");
    }
    norn_runtime *rt = open_plain(); /* after all that */
    CHECK_OK(norn_close(rt));
    return 0;
}
