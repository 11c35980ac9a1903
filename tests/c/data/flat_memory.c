/* A long run of tasks on one datum needs no more memory at its end than after its warm-up. */
#include "check.h"

int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    config.max_live_tasks = 10000;
    norn_runtime *rt = open_with(&config);
    const int64_t total = scaled(1000000, 10000000);
    int64_t value = 0;
    norn_data data = DATUM(rt, value);
    /* The most that are ever live at once come first: later peaks must not count as growth. */
    norn_token gate = promised(rt, "gate");
    for (int i = 0; i < 20000; i++) submit_on_after(rt, body_nothing, NULL, norn_update(data), gate);
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_drain(rt, FOREVER));
    long resident_early = 0;
    uint64_t bytes_early = 0;
    int64_t begin = now_ns(), first_tenth = 0, last_tenth_begin = 0;
    for (int64_t i = 0; i < total; i++) {
        submit_on(rt, body_nothing, NULL, norn_update(data));
        if (i % 10000 == 9999) CHECK_OK(norn_drain(rt, FOREVER));
        if (i == total / 10) begin = now_ns();
        if (i == total / 5) {
            first_tenth = now_ns() - begin;
            resident_early = resident_kib();
            bytes_early = stats_of(rt).memory_bytes;
        }
        if (i == total / 10 * 9) last_tenth_begin = now_ns();
    }
    CHECK_OK(norn_drain(rt, FOREVER));
    printf("second tenth %lld ms, last tenth %lld ms\n", (long long)(first_tenth / MILLISECOND),
           (long long)((now_ns() - last_tenth_begin) / MILLISECOND));
    CHECK(stats_of(rt).memory_bytes <= bytes_early + bytes_early / 10 + 65536);
    CHECK(resident_kib() <= resident_early + resident_early / 10 + 4096);
    CHECK_OK(norn_close(rt));
    return 0;
}
