/* Pieces that overlap or reach outside are refused, and so is splitting or joining at the wrong time. */
#include "check.h"

static char memory[100];
int main(void) {
    norn_runtime *rt = open_plain();
    norn_data whole = datum_of(rt, memory, sizeof memory, "whole");
    norn_data parts[3] = {{1}, {2}, {3}};
    CHECK_STATUS(norn_data_join(rt, whole), NORN_E_STATE); /* not split */

    norn_piece overlap[3] = {{0, 10, 1, 0}, {50, 10, 1, 0}, {9, 2, 1, 0}};
    CHECK_STATUS(norn_data_split(rt, whole, overlap, 3, parts), NORN_E_OVERLAP);
    norn_piece overlap_2d[2] = {{0, 4, 10, 10}, {33, 2, 1, 0}};
    CHECK_STATUS(norn_data_split(rt, whole, overlap_2d, 2, parts), NORN_E_OVERLAP);
    norn_piece rows_overlap = {0, 8, 3, 4};
    CHECK_ERROR(norn_data_split(rt, whole, &rows_overlap, 1, parts));
    norn_piece same[2] = {{5, 5, 1, 0}, {5, 5, 1, 0}};
    CHECK_STATUS(norn_data_split(rt, whole, same, 2, parts), NORN_E_OVERLAP);

    const norn_piece outside[] = {{100, 1, 1, 0},       {0, 101, 1, 0},          {99, 2, 1, 0},  {0, 10, 11, 10},
                                  {UINT64_MAX, 2, 1, 0}, {0, UINT64_MAX, 1, 0}, {1, UINT64_MAX, 1, 0},
                                  {0, 1, UINT64_MAX, 2}, {0, 1, 2, UINT64_MAX}, {0, 2, UINT64_C(1) << 63, 2}};
    for (size_t i = 0; i < COUNT_OF(outside); i++)
        CHECK_STATUS(norn_data_split(rt, whole, &outside[i], 1, parts), NORN_E_INVALID);
    CHECK_EQUAL(parts[0].id, 1);
    CHECK_EQUAL(parts[2].id, 3);

    norn_piece good[2] = {{0, 4, 10, 10}, {4, 2, 10, 10}};
    CHECK_OK(norn_data_split(rt, whole, good, 2, parts));
    CHECK_STATUS(norn_data_split(rt, whole, good, 2, parts), NORN_E_STATE);
    CHECK_STATUS(norn_data_unregister(rt, parts[0]), NORN_E_STATE);
    char elsewhere[100];
    CHECK_STATUS(norn_data_rebind(rt, parts[0], elsewhere, 10), NORN_E_STATE);
    CHECK_STATUS(norn_data_rebind(rt, whole, elsewhere, 100), NORN_E_STATE);
    CHECK_OK(norn_data_join(rt, whole));
    CHECK_STATUS(norn_data_join(rt, whole), NORN_E_STATE);
    CHECK_OK(norn_data_split(rt, whole, good, 2, parts)); /* and again */
    CHECK_OK(norn_data_unregister(rt, whole));
    CHECK_STATUS(norn_data_pointer(rt, parts[1], NULL, NULL), NORN_E_INVALID);
    CHECK_OK(norn_close(rt));
    return 0;
}
