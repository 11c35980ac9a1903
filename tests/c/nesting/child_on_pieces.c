/* Children may work on the pieces of their parent's datum, side by side. */
#include "check.h"

enum { PIECES = 4, EACH = 100 };
static norn_runtime *rt;
static norn_data whole, parts[PIECES];
static int values[PIECES * EACH], numbers[PIECES];
static int32_t fill_piece(norn_self *self, void *arg) {
    const int piece = *(int *)arg;
    (void)self;
    for (int i = 0; i < EACH; i++) values[piece * EACH + i] = piece * EACH + i;
    return 0;
}
static int32_t parent(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    for (int i = 0; i < PIECES; i++) {
        norn_access access = norn_write(parts[i]);
        norn_task task = task_of(fill_piece, &numbers[i]);
        task.flags = NORN_CHILD;
        task.accesses = &access;
        task.access_count = 1;
        submit(rt, &task);
    }
    return 0;
}
static int32_t verify(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    for (int i = 0; i < PIECES * EACH; i++) CHECK_EQUAL(values[i], i);
    return 0;
}

int main(void) {
    rt = open_plain();
    norn_piece pieces[PIECES];
    whole = datum_of(rt, values, sizeof values, "whole");
    for (int i = 0; i < PIECES; i++) {
        numbers[i] = i;
        pieces[i] = (norn_piece){(uint64_t)i * EACH * sizeof(int), EACH * sizeof(int), 1, 0};
    }
    CHECK_OK(norn_data_split(rt, whole, pieces, PIECES, parts));
    submit_on(rt, parent, NULL, norn_update(whole));
    norn_token all = submit_on(rt, verify, NULL, norn_read(whole));
    CHECK_OK(norn_await(rt, all, FOREVER));
    CHECK_OK(norn_data_join(rt, whole));
    CHECK_OK(norn_close(rt));
    return 0;
}
