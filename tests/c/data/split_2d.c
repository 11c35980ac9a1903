/* Pieces may be blocks of a matrix: rows of bytes a stride apart. */
#include "check.h"

enum { N = 8, BLOCK = 4 };
static int matrix[N][N];
static int32_t add_to_block(norn_self *self, void *arg) {
    const int which = *(int *)arg;
    (void)self;
    for (int i = 0; i < BLOCK; i++)
        for (int k = 0; k < BLOCK; k++) matrix[which / 2 * BLOCK + i][which % 2 * BLOCK + k] += which + 1;
    return 0;
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data whole = datum_of(rt, matrix, sizeof matrix, "matrix"), parts[4];
    norn_piece pieces[4];
    int numbers[4];
    for (int i = 0; i < 4; i++) {
        numbers[i] = i;
        pieces[i].offset = (uint64_t)((i / 2 * BLOCK) * N + i % 2 * BLOCK) * sizeof(int);
        pieces[i].bytes = BLOCK * sizeof(int);
        pieces[i].rows = BLOCK;
        pieces[i].stride = N * sizeof(int);
    }
    /* The blocks interleave in memory and are disjoint all the same. */
    CHECK_OK(norn_data_split(rt, whole, pieces, 4, parts));
    norn_token gate = promised(rt, "gate");
    submit_on_after(rt, body_nothing, NULL, norn_write(parts[0]), gate);
    CHECK_OK(norn_await(rt, submit_on(rt, add_to_block, &numbers[1], norn_update(parts[1])), FOREVER));
    for (int i = 0; i < 4; i++) submit_on(rt, add_to_block, &numbers[i], norn_update(parts[i]));
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_data_join(rt, whole));
    CHECK_OK(norn_data_unregister(rt, whole));
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            const int which = i / BLOCK * 2 + k / BLOCK;
            CHECK_EQUAL(matrix[i][k], (which + 1) * (which == 1 ? 2 : 1));
        }
    CHECK_OK(norn_close(rt));
    return 0;
}
