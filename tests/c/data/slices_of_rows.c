/* What lies between the rows of a piece is another piece's: slices of the piece, and pieces of it, stay in its rows. */
#include "check.h"

enum { N = 8 };
static double memory[N], packed[N];

static norn_slice rows(norn_data piece, uint64_t offset, uint64_t count, uint64_t blocks, uint64_t stride) {
    norn_slice slice = norn_slice_of(piece, NORN_F64, count);
    slice.offset = offset;
    slice.blocks = blocks;
    slice.stride = stride;
    return slice;
}

static norn_status copy(norn_runtime *rt, norn_slice from, norn_slice to) {
    norn_token token;
    norn_status status = norn_copy(rt, &from, &to, NULL, &token);
    return status == NORN_OK ? norn_await(rt, token, FOREVER) : status;
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data whole = datum_of(rt, memory, sizeof memory, "whole"), parts[2];
    /* Even and odd elements. */
    const norn_piece pieces[2] = {{0, 8, 4, 16}, {8, 8, 4, 16}};
    CHECK_OK(norn_data_split(rt, whole, pieces, 2, parts));
    norn_slice from = norn_slice_at(packed, NORN_F64, 4);
    for (int i = 0; i < N; i++) packed[i] = 10 + i;

    /* One run over the rows, in every operation that takes a slice. */
    CHECK_STATUS(copy(rt, from, norn_slice_of(parts[1], NORN_F64, 4)), NORN_E_INVALID);
    CHECK_SAYS("to.data: the slice leaves the rows of a piece of 4 rows of 8 bytes, 16 apart");
    CHECK_STATUS(copy(rt, norn_slice_of(parts[0], NORN_F64, 4), from), NORN_E_INVALID);
    CHECK_SAYS("from.data: the slice leaves the rows");
    norn_slice run = norn_slice_of(parts[1], NORN_F64, 2);
    double zero = 0;
    CHECK_STATUS(norn_fill(rt, &run, &zero, NULL, NULL), NORN_E_INVALID);
    /* Blocks that do not fit the rows. */
    CHECK_STATUS(copy(rt, from, rows(parts[1], 1, 1, 4, 1)), NORN_E_INVALID);
    CHECK_STATUS(copy(rt, norn_slice_at(packed, NORN_F64, 2), rows(parts[1], 1, 1, 2, 4)), NORN_E_INVALID);
    CHECK_STATUS(copy(rt, norn_slice_at(packed, NORN_F64, 3), rows(parts[1], 0, 1, 3, 3)), NORN_E_INVALID);
    for (int i = 0; i < N; i++) CHECK(memory[i] == 0);

    /* The whole piece, some of its rows, one of them. */
    CHECK_OK(copy(rt, from, rows(parts[1], 0, 1, 4, 2)));
    CHECK_OK(copy(rt, norn_slice_at(packed + 4, NORN_F64, 2), rows(parts[0], 2, 1, 2, 4)));
    CHECK_OK(copy(rt, norn_slice_at(packed + 6, NORN_F64, 1), norn_slice_of(parts[0], NORN_F64, 1)));
    const double expected[N] = {16, 10, 14, 11, 0, 12, 15, 13};
    for (int i = 0; i < N; i++) CHECK(memory[i] == expected[i]);

    /* All of the piece is written, so what failed before it does not matter. */
    norn_token failed = submit_on(rt, body_fail, NULL, norn_write(parts[1]));
    CHECK_STATUS(norn_await(rt, failed, FOREVER), NORN_E_TASK_FAILED);
    CHECK_STATUS(copy(rt, norn_slice_at(packed, NORN_F64, 2), rows(parts[1], 2, 1, 2, 4)), NORN_E_PROPAGATED);
    CHECK_OK(copy(rt, from, rows(parts[1], 0, 1, 4, 2)));

    /* Pieces of a piece. */
    const norn_piece over = {0, 24, 1, 0}, between = {0, 8, 2, 24}, every_second = {16, 8, 2, 32};
    norn_data part;
    CHECK_STATUS(norn_data_split(rt, parts[0], &over, 1, &part), NORN_E_INVALID);
    CHECK_SAYS("pieces[0] leaves the rows");
    CHECK_STATUS(norn_data_split(rt, parts[0], &between, 1, &part), NORN_E_INVALID);
    CHECK_OK(norn_data_split(rt, parts[0], &every_second, 1, &part));
    CHECK_OK(norn_data_join(rt, parts[0]));
    CHECK_OK(norn_data_join(rt, whole));
    norn_close(rt);
    return 0;
}
