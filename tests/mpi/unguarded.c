// Collectives without an agreement (NORN_UNGUARDED) that one rank never enters: all others give them up, the world fails or
// goes on as it should, the close returns, and so does MPI_Finalize, although MPI still has what was given up.
//
// "fails": the last rank's input fails. "leaves": it declares nothing and closes. Nothing here ends by a limit of its own.
#include <mpi.h>
#include <norn_mpi.h>
#include <stdio.h>
#include <string.h>

#define CHECK(truth)                                                                                                   \
    do {                                                                                                               \
        if (!(truth)) {                                                                                                \
            fprintf(stderr, "line %d: not so: %s (%s)\n", __LINE__, #truth, norn_last_error());                        \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                              \
        }                                                                                                              \
    } while (0)

static int32_t fails(norn_self *self, void *arg) {
    (void)self, (void)arg;
    return 7;
}

int main(int argc, char **argv) {
    int provided, rank, size, leaves = argc > 1 && !strcmp(argv[1], "leaves");
    norn_runtime *rt;
    norn_world *world;
    norn_token good, failed = {0}, token, behind;
    double sum = 1;
    norn_slice slice = NORN_SLICE_INIT;
    norn_task how = NORN_TASK_INIT, task = NORN_TASK_INIT;
    norn_error_info record = NORN_ERROR_INFO_INIT;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(norn_open(NULL, &rt) == NORN_OK);
    CHECK(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world) == NORN_OK);
    slice.ptr = &sum, slice.type = NORN_F64, slice.count = 1;

    how.flags = NORN_UNGUARDED;
    CHECK(norn_allreduce(world, NULL, &slice, NORN_SUM, &how, &good) == NORN_OK);
    CHECK(norn_await(rt, good, -1) == NORN_OK);
    CHECK(sum == size);

    if (rank == size - 1) {
        if (leaves) {
            CHECK(norn_close(rt) == NORN_OK);
            MPI_Finalize();
            return 0;
        }
        task.run = fails;
        CHECK(norn_submit(rt, &task, &failed) == NORN_OK);
        how.after = &failed, how.after_count = 1;
    }
    CHECK(norn_allreduce(world, NULL, &slice, NORN_SUM, &how, &token) == NORN_OK);
    CHECK(norn_barrier(world, NULL, &behind) == NORN_OK);
    CHECK(norn_await(rt, token, -1) == NORN_E_PROPAGATED);
    CHECK(norn_await(rt, behind, -1) == NORN_E_PROPAGATED);
    CHECK(norn_error(rt, token, &record) == NORN_OK);
    CHECK(record.rank == size - 1);
    CHECK(record.cause_status == (leaves ? NORN_E_CLOSED : NORN_E_TASK_FAILED));
    CHECK(leaves || record.code == 7);
    norn_close(rt);
    MPI_Finalize();
    return 0;
}
