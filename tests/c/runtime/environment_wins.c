/* A variable of the environment wins over the field of the configuration. */
#include "check.h"

int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    config.workers = 1;
    CHECK(setenv("NORN_WORKERS", "3", 1) == 0);
    norn_runtime *rt = open_with(&config);
    CHECK_EQUAL(stats_of(rt).workers, 3);
    CHECK_OK(norn_close(rt));
    CHECK(setenv("NORN_WORKERS", "0", 1) == 0);
    rt = open_with(&config);
    CHECK_EQUAL(stats_of(rt).workers, 0);
    CHECK_OK(norn_close(rt));
    CHECK(unsetenv("NORN_WORKERS") == 0);

    const struct {
        const char *text;
        int32_t mode;
    } modes[] = {{"sync", NORN_MODE_SYNC}, {"shuffle:42", NORN_MODE_SHUFFLE}, {"default-stream", NORN_MODE_DEFAULT_STREAM}, {"async", NORN_MODE_ASYNC}};
    config.mode = NORN_MODE_SYNC;
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        CHECK(setenv("NORN_MODE", modes[i].text, 1) == 0);
        rt = open_with(&config);
        CHECK_EQUAL(stats_of(rt).mode, modes[i].mode);
        CHECK_OK(norn_close(rt));
    }
    CHECK(unsetenv("NORN_MODE") == 0);
    rt = open_with(&config);
    CHECK_EQUAL(stats_of(rt).mode, NORN_MODE_SYNC);
    CHECK_OK(norn_close(rt));
    return 0;
}
