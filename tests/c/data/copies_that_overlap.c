/* The two sides of a copy share no byte, however they are named; rows that interleave share none. */
#include "check.h"

enum { N = 12 };
static int64_t memory[N];

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data x = datum_of(rt, memory, sizeof memory, "x");
    for (int i = 0; i < N; i++) memory[i] = i;
    norn_slice from = norn_slice_of(x, NORN_I64, 4), to = from;
    for (uint64_t shift = 0; shift < 4; shift++) {
        to.offset = shift;
        CHECK_STATUS(norn_copy(rt, &from, &to, NULL, NULL), NORN_E_INVALID);
        CHECK_SAYS("from and to overlap");
        CHECK_STATUS(norn_copy(rt, &to, &from, NULL, NULL), NORN_E_INVALID);
    }
    norn_slice outside = norn_slice_at(memory + 3, NORN_I64, 4);
    CHECK_STATUS(norn_copy(rt, &from, &outside, NULL, NULL), NORN_E_INVALID);
    to.offset = 4;
    CHECK_OK(norn_copy(rt, &from, &to, NULL, NULL));
    CHECK_OK(norn_drain(rt, FOREVER));
    for (int i = 0; i < N; i++) CHECK_EQUAL(memory[i], i >= 4 && i < 8 ? i - 4 : i);
    /* Columns of a matrix of three. */
    from.count = to.count = 1;
    from.blocks = to.blocks = 4;
    from.stride = to.stride = 3;
    to.offset = 2;
    CHECK_OK(norn_copy(rt, &from, &to, NULL, NULL));
    CHECK_OK(norn_drain(rt, FOREVER));
    for (int i = 0; i < 4; i++) CHECK_EQUAL(memory[3 * i + 2], memory[3 * i]);
    to.offset = 1;
    to.count = from.count = 2;
    CHECK_STATUS(norn_copy(rt, &from, &to, NULL, NULL), NORN_E_INVALID);
    from.count = to.count = 0;
    CHECK_OK(norn_copy(rt, &from, &to, NULL, NULL));
    CHECK_OK(norn_close(rt));
    return 0;
}
