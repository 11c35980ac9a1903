// Collectives that the ranks declare differently, in verify mode: all of them are told which two ranks differ in what, none
// enters, and the next one is right.
#include <string.h>

#include "check.h"

static norn_runtime *rt;
static norn_world *world;

static void differs(norn_token token, const char *operation, const char *what) {
    norn_error_info record = NORN_ERROR_INFO_INIT;
    norn_status status = norn_await(rt, token, -1);
    double sum = 1;
    norn_slice slice = NORN_SLICE_INIT;
    norn_token next;
    OK(norn_error(rt, token, &record));
    if (status != NORN_E_MISMATCH || strcmp(record.operation, operation) != 0 || strstr(record.text, what) == NULL) {
        fprintf(stderr, "rank %d: %s, %s: %s\n", rank, norn_status_name(status), record.operation, record.text);
        exit(1);
    }
    slice.ptr = &sum, slice.type = NORN_F64, slice.count = 1;
    OK(norn_allreduce(world, NULL, &slice, NORN_SUM, NULL, &next));
    OK(norn_await(rt, next, -1));
    CHECK(sum == size);
}

int main(int argc, char **argv) {
    int provided, last;
    double give[8] = {1, 2, 3, 4, 5, 6, 7, 8}, take[8] = {0};
    uint64_t counts[4], back[4];
    norn_world_config config = NORN_WORLD_CONFIG_INIT;
    norn_slice from = NORN_SLICE_INIT, to = NORN_SLICE_INIT;
    norn_task how = NORN_TASK_INIT;
    norn_token token;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 3);
    last = rank == size - 1;
    config.verify = 1;
    OK(norn_open(NULL, &rt));
    OK(norn_world_attach(rt, MPI_COMM_WORLD, &config, &world));
    from.ptr = give, from.type = NORN_F64;
    to.ptr = take, to.type = NORN_F64;
    how.name = last ? "the last" : "one of many";

    // Rank 2 gives rank 1 two elements, of which it takes one.
    for (int i = 0; i < size; i++) counts[i] = i == 1 && last ? 2 : 1, back[i] = 1;
    from.count = last ? 4 : 3, to.count = 3;
    OK(norn_alltoall(world, &from, counts, &to, back, &how, &token));
    differs(token, "MPI_Ialltoallv", "rank 2 (\"the last\") gives 16 B to rank 1 (\"one of many\"), which takes 8 B from it");

    // Rank 2 gives rank 0 less than it takes.
    from.count = last ? 0 : 1;
    OK(norn_gather(world, &from, &to, back, 0, &how, &token));
    differs(token, "MPI_Igatherv", "rank 2 (\"the last\") gives 0 B to rank 0 (\"one of many\"), which takes 8 B from it");

    // As many bytes, of another type.
    to.count = 1, to.type = last ? NORN_I64 : NORN_F64;
    OK(norn_bcast(world, &to, 1, &how, &token));
    differs(token, "MPI_Ibcast", "elements of NORN_F64 on rank 1 (\"one of many\"), of NORN_I64 on rank 2 (\"the last\")");

    // What fits passes.
    from.count = to.count = 3, to.type = NORN_F64;
    for (int i = 0; i < size; i++) counts[i] = 1, give[i] = 10 * rank + i;
    OK(norn_alltoall(world, &from, counts, &to, back, &how, &token));
    OK(norn_await(rt, token, -1));
    for (int i = 0; i < size; i++) CHECK(take[i] == 10 * i + rank);
    OK(norn_close(rt));
    MPI_Finalize();
    return 0;
}
