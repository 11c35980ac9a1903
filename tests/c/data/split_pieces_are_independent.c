/* Pieces do not wait for each other; the parent waits for all of them. */
#include "check.h"

static char memory[64];
int main(void) {
    norn_runtime *rt = open_plain();
    norn_data whole = datum_of(rt, memory, sizeof memory, "whole"), parts[2];
    norn_piece pieces[2] = {{0, 32, 0, 0}, {32, 32, 0, 0}};
    CHECK_OK(norn_data_split(rt, whole, pieces, 2, parts));
    void *ptr = NULL;
    uint64_t bytes = 0;
    CHECK_OK(norn_data_pointer(rt, parts[1], &ptr, &bytes));
    CHECK(ptr == memory + 32);
    CHECK_EQUAL(bytes, 32);

    norn_token gate = promised(rt, "gate");
    submit_on_after(rt, body_nothing, NULL, norn_write(parts[0]), gate);
    CHECK_OK(norn_await(rt, submit_on(rt, body_nothing, NULL, norn_update(parts[1])), FOREVER));
    norn_token all = submit_on(rt, body_nothing, NULL, norn_read(whole));
    norn_token behind = submit_on(rt, body_nothing, NULL, norn_write(parts[1]));
    CHECK_STATUS(norn_await(rt, all, 20 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_STATUS(norn_await(rt, behind, 0), NORN_E_TIMEOUT);
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_await(rt, behind, FOREVER));
    CHECK_OK(norn_await(rt, all, 0));

    /* A failed piece fails the parent, until something overwrites the whole. */
    norn_token bad = submit_on(rt, body_fail, NULL, norn_write(parts[0]));
    CHECK_STATUS(norn_await(rt, submit_on(rt, body_must_not_run, NULL, norn_read(whole)), FOREVER), NORN_E_PROPAGATED);
    CHECK_OK(norn_await(rt, submit_on(rt, body_nothing, NULL, norn_read(parts[1])), FOREVER));
    CHECK_STATUS(norn_await(rt, bad, FOREVER), NORN_E_TASK_FAILED);
    CHECK_OK(norn_await(rt, submit_on(rt, body_nothing, NULL, norn_write(whole)), FOREVER));
    CHECK_OK(norn_await(rt, submit_on(rt, body_nothing, NULL, norn_read(parts[0])), FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
