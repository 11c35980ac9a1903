/* Numbers that norn never gave out are refused, not waited for. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token real = promised(rt, "the only one");
    int32_t done;

    const uint64_t garbage[] = {1, 2, 0x7f, 0xffff, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63, 0xdeadbeefcafef00d};
    for (size_t i = 0; i < COUNT_OF(garbage); i++) {
        norn_token guess = {garbage[i]};
        if (guess.id == real.id) continue;
        CHECK_STATUS(norn_test(rt, guess, &done), NORN_E_INVALID);
        CHECK_STATUS(norn_await(rt, guess, FOREVER), NORN_E_INVALID);
    }
    /* One bit more than a real id: another runtime, slot or generation, none of which exists yet. */
    for (int bit = 0; bit < 64; bit++) {
        norn_token guess = {real.id ^ (UINT64_C(1) << bit)};
        norn_status status = norn_await(rt, guess, FOREVER);
        if (guess.id > real.id) CHECK_STATUS(status, NORN_E_INVALID);
        else CHECK(status == NORN_E_INVALID || status == NORN_OK); /* may pass for one long complete */
        CHECK_ERROR(norn_fulfill(rt, guess));
    }
    norn_task task = task_of(body_must_not_run, NULL);
    norn_token guess = {UINT64_MAX};
    task.after = &guess;
    task.after_count = 1;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_INVALID);
    CHECK_OK(norn_fulfill(rt, real));
    CHECK_OK(norn_close(rt));
    return 0;
}
