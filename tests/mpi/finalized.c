// MPI_Finalize before norn_close: what was under way fails with a sentence, nothing hangs, and the close returns.
#include <mpi.h>
#include <norn_mpi.h>
#include <stdio.h>
#include <string.h>

#define CHECK(truth)                                                                                                   \
    do {                                                                                                               \
        if (!(truth)) {                                                                                                \
            fprintf(stderr, "line %d: not so: %s (%s)\n", __LINE__, #truth, norn_last_error());                        \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

int main(int argc, char **argv) {
    int provided, rank, size, pending = argc > 1 && !strcmp(argv[1], "pending");
    norn_runtime *rt;
    norn_world *world;
    norn_token token = {0};
    char memory[8];
    norn_slice slice = NORN_SLICE_INIT;
    slice.ptr = memory;
    slice.count = sizeof memory;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(norn_open(NULL, &rt) == NORN_OK);
    CHECK(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world) == NORN_OK);
    if (pending) {
        CHECK(norn_recv(world, &slice, (rank + 1) % size, 0, NULL, &token) == NORN_OK);
        CHECK(norn_world_flush(world, -1) == NORN_OK);
    }
    MPI_Finalize();
    if (pending) {
        norn_error_info info = NORN_ERROR_INFO_INIT;
        CHECK(norn_await(rt, token, 20000000000) == NORN_E_PROPAGATED);
        CHECK(norn_error(rt, token, &info) == NORN_OK);
        CHECK(info.cause_status == NORN_E_MPI && strstr(info.text, "MPI_Finalize"));
    }
    CHECK(norn_close_with(rt, NORN_DRAIN, 20000000000) == NORN_OK);
    if (rank == 0) printf("finalized: ok\n");
    return 0;
}
