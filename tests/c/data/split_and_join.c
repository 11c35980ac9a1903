/* Pieces are data of their own, ordered with what came before the split and after the join. */
#include "check.h"

enum { PIECES = 8, EACH = 16 };
static int values[PIECES * EACH];
static int numbers[PIECES];

static int32_t fill_1(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    for (int i = 0; i < PIECES * EACH; i++) values[i] = 1;
    return 0;
}
static int32_t scale_piece(norn_self *self, void *arg) {
    const int piece = *(int *)arg;
    (void)self;
    for (int i = 0; i < EACH; i++) values[piece * EACH + i] *= piece + 2;
    return 0;
}
static int32_t verify_all(norn_self *self, void *arg) {
    const int added = *(int *)arg;
    (void)self;
    for (int i = 0; i < PIECES * EACH; i++) CHECK_EQUAL(values[i], i / EACH + 2 + added);
    return 0;
}
static int32_t add_1_to_all(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    for (int i = 0; i < PIECES * EACH; i++) values[i]++;
    return 0;
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data whole = datum_of(rt, values, sizeof values, "whole"), parts[PIECES];
    norn_piece pieces[PIECES];
    int zero = 0, one = 1;
    for (int i = 0; i < PIECES; i++) {
        numbers[i] = i;
        pieces[i] = (norn_piece){(uint64_t)i * EACH * sizeof(int), EACH * sizeof(int), 1, 0};
    }
    norn_token gate = promised(rt, "gate");
    submit_on_after(rt, fill_1, NULL, norn_write(whole), gate);
    CHECK_OK(norn_data_split(rt, whole, pieces, PIECES, parts));
    norn_token scaled_piece[PIECES];
    for (int i = 0; i < PIECES; i++) scaled_piece[i] = submit_on(rt, scale_piece, &numbers[i], norn_update(parts[i]));
    CHECK_STATUS(norn_await(rt, scaled_piece[3], 20 * MILLISECOND), NORN_E_TIMEOUT);

    /* An access to the parent is an access to all pieces. */
    submit_on(rt, verify_all, &zero, norn_read(whole));
    submit_on(rt, add_1_to_all, NULL, norn_update(whole));
    norn_token piece_reader = submit_on(rt, body_nothing, NULL, norn_read(parts[5]));
    CHECK_OK(norn_data_join(rt, whole));
    norn_token after = submit_on(rt, verify_all, &one, norn_read(whole));
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_await(rt, after, FOREVER));
    CHECK_OK(norn_await(rt, piece_reader, FOREVER));

    /* The pieces are gone. */
    norn_access access = norn_read(parts[0]);
    norn_task task = task_of(body_must_not_run, NULL);
    task.accesses = &access;
    task.access_count = 1;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_INVALID);
    CHECK_STATUS(norn_data_pointer(rt, parts[0], NULL, NULL), NORN_E_INVALID);
    CHECK_OK(norn_close(rt));
    return 0;
}
