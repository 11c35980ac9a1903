// Collectives without an agreement (NORN_UNGUARDED) that one rank never enters: all others give them up, the world fails or
// goes on as it should, the close returns, and so does MPI_Finalize, although MPI still has what was given up.
//
// "fails": the last rank's input fails. "leaves": it declares nothing and closes. Nothing here ends by a limit of its own.
#include <string.h>

#include "check.h"

static int32_t fails(norn_self *self, void *arg) {
    (void)self, (void)arg;
    return 7;
}

int main(int argc, char **argv) {
    int provided, leaves = argc > 1 && !strcmp(argv[1], "leaves");
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
    OK(norn_open(NULL, &rt));
    OK(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world));
    slice.ptr = &sum, slice.type = NORN_F64, slice.count = 1;

    how.flags = NORN_UNGUARDED;
    OK(norn_allreduce(world, NULL, &slice, NORN_SUM, &how, &good));
    OK(norn_await(rt, good, -1));
    CHECK(sum == size);

    if (rank == size - 1) {
        if (leaves) {
            OK(norn_close(rt));
            MPI_Finalize();
            return 0;
        }
        task.run = fails;
        OK(norn_submit(rt, &task, &failed));
        how.after = &failed, how.after_count = 1;
    }
    OK(norn_allreduce(world, NULL, &slice, NORN_SUM, &how, &token));
    OK(norn_barrier(world, NULL, &behind));
    CHECK(norn_await(rt, token, -1) == NORN_E_PROPAGATED);
    CHECK(norn_await(rt, behind, -1) == NORN_E_PROPAGATED);
    OK(norn_error(rt, token, &record));
    CHECK(record.rank == size - 1);
    CHECK(record.cause_status == (leaves ? NORN_E_CLOSED : NORN_E_TASK_FAILED));
    CHECK(leaves || record.code == 7);
    norn_close(rt);
    MPI_Finalize();
    return 0;
}
