// All ranks but one close, and each waits for all of those, itself too, which send nothing. The other stays open and waits for the
// first. Nobody waits for ever.
#include "check.h"

static norn_slice number(double *at) {
    norn_slice slice = NORN_SLICE_INIT;
    slice.ptr = at, slice.type = NORN_F64, slice.count = 1;
    return slice;
}

int main(int argc, char **argv) {
    enum { OPEN = 1, MOST = 64 };
    static double memory[MOST];
    int provided;
    norn_runtime *rt;
    norn_world *world;
    norn_token token;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size > 2 && size <= MOST);
    OK(norn_open(NULL, &rt));
    OK(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world));
    for (int from = 0; from < size; from++) {
        norn_slice slice = number(&memory[from]);
        if (rank != OPEN ? from != OPEN : from == 0) OK(norn_recv(world, &slice, from, rank == OPEN, NULL, &token));
    }
    if (rank == OPEN) {
        CHECK(norn_await(rt, token, -1) == NORN_E_CLOSED);
        OK(norn_close(rt));
    } else {
        CHECK(norn_close(rt) == NORN_E_CLOSED);
    }
    MPI_Finalize();
    if (rank == 0) printf("knot: %d ranks: ok\n", size);
    return 0;
}
