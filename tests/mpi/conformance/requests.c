/*
 * Many requests, and their slots.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

/*
 * `count` receives at once, then the messages for each thousand of them in the
 * reverse order (more would measure how MPI walks its queues). Tests the whole
 * lot in windows of 64.
 */
static void in_reverse(int count) {
    int32_t *slots = malloc(2 * (size_t)count * sizeof *slots), *values = malloc(2 * (size_t)count * sizeof *values);
    char *seen = calloc((size_t)count, 1);
    norn_mpi_done done[64];
    int32_t code = 0, some;
    int left = 2 * count, begin = 0, wrong = 0;
    double end = MPI_Wtime() + 120;
    for (int i = 0; i < count && code == 0; i++) {
        code = mpi->irecv(set, &values[i], 1, type_of(NORN_I32), previous(), i % 32768, comm, (uint64_t)i, &slots[i]);
    }
    for (int k = 0; k < count && code == 0; k++) {
        int block = k / 1000 * 1000, length = count - block < 1000 ? count - block : 1000, i = block + length - 1 - k % 1000;
        values[count + i] = 7 * i + rank;
        code = mpi->isend(set, &values[count + i], 1, type_of(NORN_I32), next(), i % 32768, comm, UINT64_MAX,
                          &slots[count + i]);
    }
    while (left > 0 && code == 0 && MPI_Wtime() < end) {
        int window = 2 * count - begin < 64 ? 2 * count - begin : 64;
        code = mpi->test(set, slots + begin, window, done, &some);
        for (int k = 0; k < some && code == 0; k++, left--) {
            wrong += done[k].outcome != NORN_MPI_DONE;
            if (done[k].user == UINT64_MAX) continue;
            if (done[k].user >= (uint64_t)count || seen[done[k].user]++) wrong++;
        }
        begin = begin + window >= 2 * count ? 0 : begin + window;
    }
    for (int i = 0; i < count; i++) wrong += values[i] != 7 * i + previous();
    free(slots);
    free(values);
    free(seen);
    OK(code);
    MUST(left == 0 && wrong == 0, "%d left, %d wrong", left, wrong);
}

static void ten_requests_in_reverse(void) { in_reverse(10); }
static void a_thousand_requests_in_reverse(void) { in_reverse(1000); }
static void thirty_thousand_requests_in_reverse(void) { in_reverse(30000); }

static void slots_are_dense_and_reused(void) {
    int32_t slots[100];
    norn_mpi_requests *own;
    norn_mpi_done done[100];
    int32_t some = 0;
    char seen[100] = {0}, byte;
    OK(mpi->requests_open(&own));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100; i++) {
            OK(mpi->irecv(own, &byte, 1, type_of(NORN_BYTE), rank, 1, comm, (uint64_t)i, &slots[i]));
        }
        memset(seen, 0, sizeof seen);
        for (int i = 0; i < 100; i++) {
            MUST(slots[i] >= 0 && slots[i] < 100 && !seen[slots[i]]++, "slot %d", (int)slots[i]);
            OK(mpi->cancel(own, slots[i]));
        }
        MUST(mpi->requests_close(own) == NORN_MPI_BUSY, "closed");
        int left = 100;
        for (double end = MPI_Wtime() + 60; left > 0 && MPI_Wtime() < end; left -= some) {
            OK(mpi->test(own, slots, 100, done, &some));
        }
        MUST(left == 0, "%d left", left);
    }
    OK(mpi->requests_close(own));
}

static void a_test_passes_over_what_is_no_request(void) {
    int32_t slot, none = 7;
    char byte = 0;
    norn_mpi_done done[6];
    OK(mpi->test(set, NULL, 0, NULL, &none));
    MUST(none == 0, "%d", (int)none);
    OK(mpi->irecv(set, &byte, 1, type_of(NORN_BYTE), rank, 1, comm, 3, &slot));
    int32_t odd[6] = {-1, slot, slot, INT32_MAX, slot, INT32_MIN};
    OK(mpi->test(set, odd, 6, done, &none));
    MUST(none == 0, "%d", (int)none);
    OK(mpi->cancel(set, slot));
    none = 0;
    for (double end = MPI_Wtime() + 60; none == 0 && MPI_Wtime() < end;) OK(mpi->test(set, odd, 6, done, &none));
    MUST(none == 1 && done[0].slot == slot && done[0].user == 3, "%d", (int)none);
    OK(mpi->test(set, odd, 6, done, &none));
    MUST(none == 0, "%d", (int)none);
}

const struct check request_checks[] = {
    CHECK(ten_requests_in_reverse, ALWAYS),
    CHECK(a_thousand_requests_in_reverse, ALWAYS),
    CHECK(thirty_thousand_requests_in_reverse, ALWAYS),
    CHECK(slots_are_dense_and_reused, ALWAYS),
    CHECK(a_test_passes_over_what_is_no_request, ALWAYS),
    {NULL, NULL, ALWAYS},
};
