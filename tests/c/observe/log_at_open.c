/* The log sink gets a line at open that says what was decided. */
#include "check.h"

static char lines[8192];
static atomic_int calls, overlapping;
static void sink(void *arg, int32_t level, const char *text) {
    CHECK(arg == lines);
    CHECK(level >= NORN_LOG_ERROR && level <= NORN_LOG_DEBUG);
    CHECK_EQUAL(atomic_fetch_add(&overlapping, 1), 0); /* one at a time */
    if (level == NORN_LOG_INFO && strlen(lines) + strlen(text) + 2 < sizeof lines) strcat(lines, text);
    atomic_fetch_add(&calls, 1);
    atomic_fetch_sub(&overlapping, 1);
}

int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    config.log = sink;
    config.log_arg = lines;
    norn_runtime *rt = open_with(&config);
    CHECK(calls >= 1);
    char workers[32];
    snprintf(workers, sizeof workers, "%d", stats_of(rt).workers);
    CHECK_TEXT(lines, workers);
    CHECK_TEXT(lines, "worker");
    CHECK_OK(norn_close(rt));
    const int after_close = calls;
    sleep_ms(20);
    CHECK_EQUAL(calls, after_close);
    return 0;
}
