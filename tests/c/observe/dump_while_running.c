/* Dumps and counters may be taken at any time, while tasks come and go. */
#include "check.h"

static norn_runtime *rt;
static atomic_int stop;
static int32_t ignore(void *arg, const char *piece, uint64_t bytes) {
    *(uint64_t *)arg += bytes + (piece == NULL);
    return 0;
}
static void *submitter(void *arg) {
    norn_data data = *(norn_data *)arg;
    while (!stop) {
        norn_token token = {0};
        for (int i = 0; i < 200; i++) token = submit_on_after(rt, i == 77 ? body_fail : body_nothing, NULL, norn_commute(data), token);
        CHECK_OK(norn_drain(rt, FOREVER));
        CHECK_OK(norn_await(rt, submit_on(rt, body_nothing, NULL, norn_write(data)), FOREVER));
    }
    return NULL;
}

int main(void) {
    rt = open_plain();
    norn_data data[2] = {pure_name(rt, "a"), pure_name(rt, "b")};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, submitter, &data[i]) == 0);
    uint64_t bytes = 0;
    const int64_t until = now_ns() + 500 * MILLISECOND;
    while (now_ns() < until) {
        CHECK_OK(norn_dump(rt, NORN_DUMP_TEXT, ignore, &bytes));
        CHECK_OK(norn_dump(rt, NORN_DUMP_DOT, ignore, &bytes));
        norn_runtime_stats stats = stats_of(rt);
        CHECK(stats.completed <= stats.submitted);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(bytes > 0);
    norn_close(rt);
    return 0;
}
