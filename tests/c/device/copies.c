/* Copies between every pair of places, whole and in rows and planes; fills of every size of element.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/device.h"

#define ROWS 7
#define COLUMNS 11
#define ALL (ROWS * COLUMNS)

static void check_fill(const device *d, norn_type type, const void *element, size_t size) {
    static unsigned char memory[ALL * 16];
    norn_data host = device_host(d, memory, ALL * size), x = device_alloc(d, ALL * size);
    norn_slice whole = norn_slice_of(x, type, ALL), inner = whole, down = norn_slice_of(host, type, ALL);
    unsigned char zero[16] = {0};
    norn_token token;
    /* The inner part of a matrix: rows 1 to ROWS - 2, columns 2 to 6. */
    inner.offset = COLUMNS + 2;
    inner.count = 5;
    inner.blocks = ROWS - 2;
    inner.stride = COLUMNS;
    CHECK_OK(norn_fill(d->rt, &whole, zero, NULL, NULL));
    CHECK_OK(norn_fill(d->rt, &inner, element, NULL, NULL));
    CHECK_OK(norn_copy(d->rt, &whole, &down, NULL, &token));
    CHECK_OK(norn_await(d->rt, token, FOREVER));
    for (size_t r = 0; r < ROWS; r++)
        for (size_t c = 0; c < COLUMNS; c++) {
            int inside = r >= 1 && r <= ROWS - 2 && c >= 2 && c < 7;
            CHECK(memcmp(memory + (r * COLUMNS + c) * size, inside ? element : zero, size) == 0);
        }
    CHECK_OK(norn_data_unregister(d->rt, x));
    CHECK_OK(norn_data_unregister(d->rt, host));
}

int main(void) {
    device d = device_open();
    uint64_t *pinned, matrix[ALL], packed[ALL], other[ALL];
    norn_data places[4];
    places[0] = device_host(&d, matrix, sizeof matrix);
    places[1] = device_pinned(&d, sizeof matrix, &pinned);
    places[2] = device_alloc(&d, sizeof matrix);
    places[3] = device_alloc(&d, sizeof matrix);
    norn_data out = device_host(&d, packed, sizeof packed), result = device_host(&d, other, sizeof other);
    /* A column of blocks out of each place into each other, packed and spread again. */
    for (int from = 0; from < 4; from++)
        for (int to = 0; to < 4; to++) {
            if (from == to) continue;
            norn_slice rows = norn_slice_of(places[from], NORN_U64, 4), into, all, back;
            norn_token token;
            uint64_t start[ALL];
            for (uint64_t i = 0; i < ALL; i++) start[i] = i + 1000 * (uint64_t)from;
            norn_slice source = norn_slice_at(start, NORN_U64, ALL), target = norn_slice_of(places[from], NORN_U64, ALL);
            CHECK_OK(norn_copy(d.rt, &source, &target, NULL, &token));
            uint64_t zero = 0;
            all = norn_slice_of(places[to], NORN_U64, ALL);
            CHECK_OK(norn_fill(d.rt, &all, &zero, NULL, NULL));
            rows.offset = 3;
            rows.blocks = ROWS;
            rows.stride = COLUMNS;
            into = norn_slice_of(places[to], NORN_U64, 4);
            into.offset = 5;
            into.blocks = ROWS;
            into.stride = COLUMNS;
            CHECK_OK(norn_copy(d.rt, &rows, &into, NULL, NULL));
            back = norn_slice_of(result, NORN_U64, ALL);
            CHECK_OK(norn_copy(d.rt, &all, &back, NULL, NULL));
            norn_slice run = norn_slice_of(out, NORN_U64, 4 * ROWS);
            CHECK_OK(norn_copy(d.rt, &into, &run, NULL, NULL));
            CHECK_OK(norn_drain(d.rt, FOREVER));
            CHECK_OK(norn_await(d.rt, token, FOREVER));
            for (uint64_t r = 0; r < ROWS; r++)
                for (uint64_t c = 0; c < COLUMNS; c++) {
                    int inside = c >= 5 && c < 9;
                    uint64_t expected = inside ? r * COLUMNS + c - 2 + 1000 * (uint64_t)from : 0;
                    CHECK(other[r * COLUMNS + c] == expected);
                    if (inside) CHECK(packed[4 * r + c - 5] == expected);
                }
        }
    unsigned char element[16];
    for (int i = 0; i < 16; i++) element[i] = (unsigned char)(i + 1);
    check_fill(&d, NORN_BYTE, element, 1);
    check_fill(&d, NORN_I16, element, 2);
    check_fill(&d, NORN_F32, element, 4);
    check_fill(&d, NORN_F64, element, 8);
    check_fill(&d, NORN_C128, element, 16);

    norn_slice one = norn_slice_of(places[2], NORN_U64, ALL), two = norn_slice_of(places[3], NORN_U64, ALL - 1);
    CHECK_STATUS(norn_copy(d.rt, &one, &two, NULL, NULL), NORN_E_INVALID);
    one.count = ALL + 1;
    CHECK_STATUS(norn_copy(d.rt, &one, &two, NULL, NULL), NORN_E_INVALID);
    one.count = 0;
    two.count = 0;
    norn_token empty;
    CHECK_OK(norn_copy(d.rt, &one, &two, NULL, &empty));
    CHECK_OK(norn_await(d.rt, empty, FOREVER));
    CHECK_OK(norn_close(d.rt));
    return 0;
}
