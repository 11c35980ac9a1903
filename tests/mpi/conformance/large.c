/*
 * Counts that an int cannot hold.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "conformance.h"

/* Memory that takes room only where it is touched. */
static char *sparse(int64_t bytes) {
    void *map = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return map == MAP_FAILED ? NULL : map;
}

static void large_message(int64_t bytes) {
    char *out = sparse(bytes), *in = sparse(bytes);
    int32_t slots[2];
    norn_mpi_done done[2];
    const int64_t marks[] = {0, bytes - 1, (INT64_C(1) << 31) - 2, bytes / 2};
    MUST(out != NULL && in != NULL, "no memory");
    for (int i = 0; i < 4; i++) out[marks[i]] = (char)(10 + i);
    int32_t code = mpi->irecv(set, in, bytes, type_of(NORN_BYTE), previous(), 2, comm, 1, &slots[0]);
    if (code == 0) code = mpi->isend(set, out, bytes, type_of(NORN_BYTE), next(), 2, comm, 2, &slots[1]);
    if (code == 0) code = finish_all(slots, 2, done);
    int right = 1;
    for (int i = 0; i < 4 && code == 0; i++) right &= in[marks[i]] == 10 + i;
    munmap(out, (size_t)bytes);
    munmap(in, (size_t)bytes);
    OK(code);
    MUST(right, "wrong data");
    for (int i = 0; i < 2; i++) {
        MUST(done[i].outcome == NORN_MPI_DONE, "outcome %d", (int)done[i].outcome);
        if (done[i].user == 1) MUST(done[i].bytes == bytes, "%lld bytes", (long long)done[i].bytes);
    }
}

static void a_message_of_2_31_minus_1_bytes(void) { large_message((INT64_C(1) << 31) - 1); }
static void a_message_of_2_31_plus_7_bytes(void) { large_message((INT64_C(1) << 31) + 7); }
static void a_message_of_5_gib(void) { large_message(INT64_C(5) << 30); }

static void a_broadcast_of_2_31_plus_7_bytes(void) {
    int64_t bytes = (INT64_C(1) << 31) + 7;
    char *data = sparse(bytes);
    int32_t slot;
    norn_mpi_done done;
    norn_mpi_collective what = {.kind = NORN_MPI_BCAST, .comm = comm, .recv = data, .recv_count = bytes};
    MUST(data != NULL, "no memory");
    what.recv_type = type_of(NORN_BYTE);
    if (rank == 0) data[0] = 1, data[bytes - 1] = 2;
    int32_t code = mpi->icollective(set, &what, 0, &slot);
    if (code == 0) code = finish(slot, &done);
    int right = code == 0 && data[0] == 1 && data[bytes - 1] == 2;
    munmap(data, (size_t)bytes);
    OK(code);
    MUST(right, "wrong data");
}

static void counts_over_the_limit_are_told(void) {
    int64_t limit = 0, counts[64], displs[64] = {0};
    double value = 0;
    int32_t slot = 77;
    OK(mpi->count_limit(&limit));
    MUST(limit == INT32_MAX || limit == INT64_MAX, "%lld", (long long)limit);
    if (limit == INT64_MAX) return;
    for (int i = 0; i < size && i < 64; i++) counts[i] = limit + 1;
    norn_mpi_collective what = {.kind = NORN_MPI_ALLREDUCE, .comm = comm, .send = &value, .recv = &value};
    what.recv_count = limit + 1;
    what.recv_type = type_of(NORN_F64);
    what.op = op_of(NORN_SUM);
    MUST(mpi->icollective(set, &what, 0, &slot) == NORN_MPI_TOO_LARGE && slot == 77, "allreduce");
    what.kind = NORN_MPI_ALLGATHERV;
    what.send_type = what.recv_type;
    what.recv_counts = counts;
    what.recv_displs = displs;
    MUST(mpi->icollective(set, &what, 0, &slot) == NORN_MPI_TOO_LARGE && slot == 77, "allgatherv");
}

const struct check large_checks[] = {
    CHECK(counts_over_the_limit_are_told, ALWAYS),
    CHECK(a_message_of_2_31_plus_7_bytes, ALONE),
    CHECK(a_broadcast_of_2_31_plus_7_bytes, ALONE),
    CHECK(a_message_of_2_31_minus_1_bytes, WITH_LARGE),
    CHECK(a_message_of_5_gib, WITH_LARGE),
    {NULL, NULL, ALWAYS},
};
