/* A token may be asked for ever: what it stood for does not change when its slot serves others. */
#include "check.h"

enum { KEPT = 500 };

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token good[KEPT], bad[KEPT];
    int codes[KEPT];
    for (int i = 0; i < KEPT; i++) {
        codes[i] = 1000 + i;
        good[i] = submit_run(rt, body_nothing, NULL);
        bad[i] = submit_run(rt, body_fail, &codes[i]);
    }
    CHECK_OK(norn_drain(rt, FOREVER));
    const int64_t others = scaled(100000, 5000000);
    for (int64_t i = 0; i < others; i++) {
        submit_run(rt, body_nothing, NULL);
        if (i % 256 == 255) CHECK_OK(norn_drain(rt, FOREVER));
    }
    CHECK_OK(norn_drain(rt, FOREVER));
    for (int i = 0; i < KEPT; i++) {
        CHECK(is_done(rt, good[i]) && is_done(rt, bad[i]));
        CHECK_OK(norn_await(rt, good[i], 0));
        CHECK_EQUAL(record_of(rt, good[i]).status, NORN_OK);
        CHECK_STATUS(norn_await(rt, bad[i], 0), NORN_E_TASK_FAILED);
        norn_error_info info = record_of(rt, bad[i]);
        CHECK_EQUAL(info.code, codes[i]);
        CHECK(info.cause.id == bad[i].id);
        CHECK_STATUS(norn_cancel(rt, good[i]), NORN_E_TOO_LATE);
    }
    CHECK_OK(norn_close(rt));
    return 0;
}
