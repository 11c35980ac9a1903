/*
 * Nonblocking collectives.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static norn_mpi_collective collective(int32_t kind) {
    norn_mpi_collective what = {.kind = kind, .comm = comm};
    what.send_type = what.recv_type = type_of(NORN_I32);
    what.op = op_of(NORN_SUM);
    return what;
}

static int32_t complete(const norn_mpi_collective *what) {
    int32_t slot;
    norn_mpi_done done;
    int32_t code = mpi->icollective(set, what, 123, &slot);
    if (code == 0) code = finish(slot, &done);
    if (code == 0 && (done.outcome != NORN_MPI_DONE || done.user != 123 || done.bytes != NORN_MPI_UNDEFINED)) code = -1001;
    return code;
}

static void barrier(void) {
    norn_mpi_collective what = collective(NORN_MPI_BARRIER);
    OK(complete(&what));
}

static void broadcast_from_each_root(void) {
    for (int root = 0; root < size; root++) {
        int32_t values[3] = {rank, rank, rank};
        norn_mpi_collective what = collective(NORN_MPI_BCAST);
        what.root = root;
        what.recv = values;
        what.recv_count = 3;
        OK(complete(&what));
        MUST(values[0] == root && values[2] == root, "%d", (int)values[0]);
    }
}

static void reduce_to_each_root(void) {
    for (int root = 0; root < size; root++) {
        int32_t values[2] = {rank + 1, 10 * rank}, sums[2] = {-1, -1};
        norn_mpi_collective what = collective(NORN_MPI_REDUCE);
        what.root = root;
        what.send = values;
        what.recv = rank == root ? sums : NULL;
        what.recv_count = 2;
        OK(complete(&what));
        if (rank == root) MUST(sums[0] == size * (size + 1) / 2 && sums[1] == 5 * size * (size - 1), "%d", (int)sums[0]);
        /* In place, and again. */
        if (rank == root) {
            what.send = (const void *)NORN_MPI_IN_PLACE;
            what.recv = values;
        }
        OK(complete(&what));
        if (rank == root) MUST(values[0] == size * (size + 1) / 2, "%d in place", (int)values[0]);
    }
}

static void reductions_with_every_operation(void) {
    static const int64_t right_of_two[] = {[NORN_SUM] = 8, [NORN_PROD] = 15, [NORN_MIN] = 3, [NORN_MAX] = 5,
                                           [NORN_LAND] = 1, [NORN_LOR] = 1, [NORN_LXOR] = 0, [NORN_BAND] = 1,
                                           [NORN_BOR] = 7, [NORN_BXOR] = 6};
    for (int32_t op = NORN_SUM; op <= NORN_BXOR; op++) {
        int64_t value = rank == 0 ? 3 : 5, result = -1;
        norn_mpi_collective what = collective(NORN_MPI_ALLREDUCE);
        what.op = op_of(op);
        what.recv_type = type_of(NORN_I64);
        what.send = &value;
        what.recv = &result;
        what.recv_count = 1;
        OK(complete(&what));
        if (size == 2) MUST(result == right_of_two[op], "operation %d gives %lld", (int)op, (long long)result);
        if (size == 1 && op != NORN_LAND && op != NORN_LOR && op != NORN_LXOR) {
            MUST(result == 3, "operation %d gives %lld", (int)op, (long long)result);
        }
    }
}

static void reductions_of_every_number_type(void) {
    for (int32_t number_type = NORN_I8; number_type <= NORN_C128; number_type++) {
        _Alignas(16) char value[16] = {0}, result[16] = {0};
        int64_t sum = 0;
        norn_mpi_collective what = collective(NORN_MPI_ALLREDUCE);
        switch (number_type) {
        case NORN_F32: memcpy(value, &(float){2}, 4); break;
        case NORN_F64: memcpy(value, &(double){2}, 8); break;
        case NORN_C64: memcpy(value, (float[2]){2, 2}, 8); break;
        case NORN_C128: memcpy(value, (double[2]){2, 2}, 16); break;
        default: value[0] = 2; /* little-endian integers */
        }
        what.recv_type = type_of(number_type);
        what.send = value;
        what.recv = result;
        what.recv_count = 1;
        OK(complete(&what));
        float f[2];
        double d[2];
        memcpy(f, result, sizeof f);
        memcpy(d, result, sizeof d);
        switch (number_type) {
        case NORN_F32: sum = (int64_t)f[0]; break;
        case NORN_F64: sum = (int64_t)d[0]; break;
        case NORN_C64: sum = (int64_t)f[1]; break;
        case NORN_C128: sum = (int64_t)d[1]; break;
        default: sum = result[0];
        }
        MUST(sum == 2 * size, "type %d gives %lld", (int)number_type, (long long)sum);
    }
}

static void allreduce_in_place(void) {
    int32_t values[2] = {1, rank};
    norn_mpi_collective what = collective(NORN_MPI_ALLREDUCE);
    what.send = (const void *)NORN_MPI_IN_PLACE;
    what.recv = values;
    what.recv_count = 2;
    OK(complete(&what));
    MUST(values[0] == size && values[1] == size * (size - 1) / 2, "%d", (int)values[0]);
}

static void gather_and_scatter(void) {
    int32_t mine[2] = {rank, -rank}, *all = calloc(2 * (size_t)size, sizeof *all), back[2] = {-7, -7};
    int root = size - 1, right = 1;
    norn_mpi_collective what = collective(NORN_MPI_GATHER);
    what.root = root;
    what.send = mine;
    what.send_count = 2;
    what.recv = rank == root ? all : NULL;
    what.recv_count = 2;
    int32_t code = complete(&what);
    for (int i = 0; i < size && rank == root; i++) right &= all[2 * i] == i && all[2 * i + 1] == -i;
    what = collective(NORN_MPI_SCATTER);
    what.root = root;
    what.send = rank == root ? all : NULL;
    what.send_count = 2;
    what.recv = back;
    what.recv_count = 2;
    if (code == 0) code = complete(&what);
    free(all);
    OK(code);
    MUST(right && back[0] == rank && back[1] == -rank, "wrong data");
}

/* Rank i has i elements; they lie two apart at the root. The arrays change as soon as the call has returned. */
static void gatherv_and_scatterv(void) {
    int32_t mine[64], back[64], *all = malloc((size_t)(size * (size + 2)) * sizeof *all);
    int64_t *counts = malloc((size_t)size * sizeof *counts), *displs = malloc((size_t)size * sizeof *displs);
    int right = 1, total = 0;
    int32_t slot, code;
    norn_mpi_done done;
    norn_mpi_collective what;
    for (int i = 0; i < 64; i++) mine[i] = 100 * rank + i, back[i] = -1;
    for (int i = 0; i < size; i++) counts[i] = i, displs[i] = total, total += i + 2;
    what = collective(NORN_MPI_GATHERV);
    what.send = mine;
    what.send_count = rank;
    what.recv = all;
    what.recv_counts = counts;
    what.recv_displs = displs;
    code = mpi->icollective(set, &what, 0, &slot);
    for (int i = 0; i < size; i++) counts[i] = displs[i] = -99;
    if (code == 0) code = finish(slot, &done);
    total = 0;
    for (int i = 0; i < size; i++) counts[i] = i, displs[i] = total, total += i + 2;
    for (int i = 0; i < size && rank == 0; i++) {
        for (int k = 0; k < i; k++) right &= all[displs[i] + k] == 100 * i + k;
    }
    what = collective(NORN_MPI_SCATTERV);
    what.send = all;
    what.send_counts = counts;
    what.send_displs = displs;
    what.recv = back;
    what.recv_count = rank;
    if (code == 0) code = mpi->icollective(set, &what, 0, &slot);
    for (int i = 0; i < size; i++) counts[i] = displs[i] = -99;
    if (code == 0) code = finish(slot, &done);
    for (int k = 0; k < rank; k++) right &= back[k] == 100 * rank + k;
    right &= back[rank] == -1;
    free(all);
    free(counts);
    free(displs);
    OK(code);
    MUST(right, "wrong data");
}

static void allgather_and_allgatherv(void) {
    int32_t mine[64], all[64 * 64];
    int64_t counts[64], displs[64];
    int total = 0;
    norn_mpi_collective what = collective(NORN_MPI_ALLGATHER);
    for (int i = 0; i < 64; i++) mine[i] = 100 * rank + i;
    what.send = mine;
    what.send_count = 2;
    what.recv = all;
    what.recv_count = 2;
    OK(complete(&what));
    for (int i = 0; i < size; i++) MUST(all[2 * i + 1] == 100 * i + 1, "%d", (int)all[2 * i + 1]);
    for (int i = 0; i < size; i++) counts[i] = i + 1, displs[i] = total, total += i + 3;
    what = collective(NORN_MPI_ALLGATHERV);
    what.send = mine;
    what.send_count = rank + 1;
    what.recv = all;
    what.recv_counts = counts;
    what.recv_displs = displs;
    OK(complete(&what));
    for (int i = 0; i < size; i++) MUST(all[displs[i] + i] == 101 * i, "%d", (int)all[displs[i] + i]);
}

static void alltoall_and_alltoallv(void) {
    int32_t out[64 * 64], in[64 * 64];
    int64_t send_counts[64], send_displs[64], recv_counts[64], recv_displs[64];
    norn_mpi_collective what = collective(NORN_MPI_ALLTOALL);
    for (int i = 0; i < size; i++) out[i] = 100 * rank + i;
    what.send = out;
    what.send_count = 1;
    what.recv = in;
    what.recv_count = 1;
    OK(complete(&what));
    for (int i = 0; i < size; i++) MUST(in[i] == 100 * i + rank, "%d", (int)in[i]);
    /* Rank i sends i + k elements to rank k. */
    for (int i = 0; i < 64 * 64; i++) out[i] = 10000 * rank + i;
    for (int i = 0; i < size; i++) {
        send_counts[i] = recv_counts[i] = rank + i;
        send_displs[i] = recv_displs[i] = 64 * i;
    }
    what = collective(NORN_MPI_ALLTOALLV);
    what.send = out;
    what.send_counts = send_counts;
    what.send_displs = send_displs;
    what.recv = in;
    what.recv_counts = recv_counts;
    what.recv_displs = recv_displs;
    OK(complete(&what));
    for (int i = 0; i < size; i++) {
        for (int k = 0; k < rank + i; k++) {
            MUST(in[64 * i + k] == 10000 * i + 64 * rank + k, "%d", (int)in[64 * i + k]);
        }
    }
}

static void collectives_of_nothing(void) {
    for (int32_t kind = NORN_MPI_BCAST; kind <= NORN_MPI_ALLTOALLV; kind++) {
        int64_t zeros[64] = {0};
        norn_mpi_collective what = collective(kind);
        what.send_counts = what.send_displs = what.recv_counts = what.recv_displs = zeros;
        OK(complete(&what));
    }
}

static void many_collectives_at_once(void) {
    enum { MANY = 200 };
    int32_t slots[MANY], values[MANY], sums[MANY];
    norn_mpi_done done[MANY];
    for (int i = 0; i < MANY; i++) {
        norn_mpi_collective what = collective(NORN_MPI_ALLREDUCE);
        values[i] = i + rank;
        what.send = &values[i];
        what.recv = &sums[i];
        what.recv_count = 1;
        OK(mpi->icollective(set, &what, 0, &slots[i]));
    }
    OK(finish_all(slots, MANY, done));
    for (int i = 0; i < MANY; i++) MUST(sums[i] == size * i + size * (size - 1) / 2, "sum %d is %d", i, (int)sums[i]);
}

static void bad_collectives_are_refused(void) {
    int32_t slot = 77, value = 0;
    norn_mpi_collective what = collective(99);
    MUST(mpi->icollective(set, &what, 0, &slot) == NORN_MPI_INVALID && slot == 77, "kind");
    what = collective(NORN_MPI_BCAST);
    what.recv = &value;
    what.recv_count = -1;
    MUST(mpi->icollective(set, &what, 0, &slot) == NORN_MPI_INVALID && slot == 77, "count");
    what.recv_count = 1;
    what.recv_type = integer_of_type(MPI_DATATYPE_NULL);
    MUST(mpi->icollective(set, &what, 0, &slot) == NORN_MPI_INVALID && slot == 77, "type");
    what = collective(NORN_MPI_BCAST);
    what.recv = &value;
    what.recv_count = 1;
    what.root = size;
    int32_t code = mpi->icollective(set, &what, 0, &slot);
    MUST(code > 0 && slot == 77, "root gives %d", (int)code);
}

const struct check collective_checks[] = {
    CHECK(barrier, ALWAYS),
    CHECK(broadcast_from_each_root, ALWAYS),
    CHECK(reduce_to_each_root, ALWAYS),
    CHECK(reductions_with_every_operation, ALWAYS),
    CHECK(reductions_of_every_number_type, ALWAYS),
    CHECK(allreduce_in_place, ALWAYS),
    CHECK(gather_and_scatter, ALWAYS),
    CHECK(gatherv_and_scatterv, ALWAYS),
    CHECK(allgather_and_allgatherv, ALWAYS),
    CHECK(alltoall_and_alltoallv, ALWAYS),
    CHECK(collectives_of_nothing, ALWAYS),
    CHECK(many_collectives_at_once, ALWAYS),
    CHECK(bad_collectives_are_refused, ALWAYS),
    {NULL, NULL, ALWAYS},
};
