/* A million data registered, used once and unregistered leave nothing behind. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    const int64_t total = scaled(100000, 1000000);
    static int cells[1000];
    long resident_early = 0;
    uint64_t bytes_early = 0;
    for (int64_t i = 0; i < total; i++) {
        norn_data data = DATUM(rt, cells[i % 1000]);
        submit_on(rt, body_nothing, NULL, norn_update(data));
        CHECK_OK(norn_data_unregister(rt, data));
        if (i == total / 5) {
            resident_early = resident_kib();
            bytes_early = stats_of(rt).memory_bytes;
        }
    }
    CHECK_EQUAL(stats_of(rt).data, 0);
    CHECK(stats_of(rt).memory_bytes <= bytes_early + bytes_early / 10 + 65536);
    CHECK(resident_kib() <= resident_early + resident_early / 10 + 4096);
    CHECK_OK(norn_close(rt));
    return 0;
}
