// A grid of two rows and two columns, each a communicator and a world. Every rank waits in its row for the other one there, and sends
// in its column after that: the four wait for each other, and none of the worlds alone shows it. Rank 0 stays open.
#include "check.h"

static norn_slice number(double *at) {
    norn_slice slice = NORN_SLICE_INIT;
    slice.ptr = at, slice.type = NORN_F64, slice.count = 1;
    return slice;
}

int main(int argc, char **argv) {
    int provided;
    double got = 0, given = 1;
    norn_runtime *rt;
    norn_world *row, *column;
    norn_token received, sent;
    MPI_Comm along[2];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 4);
    int x = rank % 2, y = rank / 2;
    MPI_Comm_split(MPI_COMM_WORLD, y, x, &along[0]);
    MPI_Comm_split(MPI_COMM_WORLD, x, y, &along[1]);
    OK(norn_open(NULL, &rt));
    OK(norn_world_attach(rt, along[0], NULL, &row));
    OK(norn_world_attach(rt, along[1], NULL, &column));
    // Round the grid: 0 waits for 1, 1 for 3, 3 for 2, 2 for 0.
    int in_row = x == y;
    norn_slice to = number(&got), from = number(&given);
    OK(norn_recv(in_row ? row : column, &to, in_row ? 1 - x : 1 - y, 0, NULL, &received));
    norn_task after = NORN_TASK_INIT;
    after.after = &received, after.after_count = 1;
    OK(norn_send(in_row ? column : row, &from, in_row ? 1 - y : 1 - x, 0, &after, &sent));
    if (rank == 0) {
        CHECK(norn_await(rt, sent, -1) == NORN_E_PROPAGATED);
        OK(norn_close(rt));
    } else {
        CHECK(norn_close(rt) == NORN_E_CLOSED);
    }
    CHECK(got == 0);
    MPI_Comm_free(&along[0]);
    MPI_Comm_free(&along[1]);
    MPI_Finalize();
    if (rank == 0) printf("rows_and_columns: %d ranks: ok\n", size);
    return 0;
}
