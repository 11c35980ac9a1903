/* NORN_SHARED gives every opener the same runtime, counted; the last close closes it. */
#include "check.h"

int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    config.flags = NORN_SHARED;
    config.workers = 2;
    norn_runtime *first = open_with(&config);
    config.workers = 3; /* too late to decide */
    norn_runtime *second = open_with(&config);
    norn_runtime *apart = open_plain();
    CHECK(first == second);
    CHECK(first != apart);
    CHECK_EQUAL(stats_of(second).workers, stats_of(first).workers);

    norn_token token = submit_run(first, body_nothing, NULL);
    CHECK_OK(norn_close(first));
    CHECK_OK(norn_await(second, token, FOREVER)); /* still open */
    CHECK_OK(norn_await(second, submit_run(second, body_nothing, NULL), FOREVER));
    CHECK_OK(norn_close(second));
    CHECK_STATUS(norn_progress(second), NORN_E_INVALID);
    CHECK_STATUS(norn_close(second), NORN_E_INVALID);

    norn_runtime *third = open_with(&config); /* a new one */
    CHECK(third != first);
    CHECK_OK(norn_await(third, submit_run(third, body_nothing, NULL), FOREVER));
    CHECK_OK(norn_close(third));
    CHECK_OK(norn_close(apart));
    return 0;
}
