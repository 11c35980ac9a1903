#define _POSIX_C_SOURCE 200809L
// MPI_Finalize before norn_close: what was under way fails with a sentence, nothing hangs, and the close returns.
//
// Without an argument the world is idle. "pending": a receive is posted that nobody serves. "busy": a worker sends and
// receives without end when MPI_Finalize is called, and must not be inside MPI any more when that goes on.
#include <mpi.h>
#include <norn_mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define CHECK(truth)                                                                                                   \
    do {                                                                                                               \
        if (!(truth)) {                                                                                                \
            fprintf(stderr, "line %d: not so: %s (%s)\n", __LINE__, #truth, norn_last_error());                        \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

// A ring of messages to itself, each the successor of the one before, until one fails.
static norn_world *ring_world;
static norn_runtime *ring;
static char ring_out[64], ring_in[64];
static void again(void *arg, norn_token token, norn_status status);
static int start(void) {
    norn_slice out = NORN_SLICE_INIT, in = NORN_SLICE_INIT;
    norn_token token;
    int rank;
    norn_world_info info = NORN_WORLD_INFO_INIT;
    if (norn_world_get(ring_world, &info) != NORN_OK) return 1;
    rank = info.rank;
    out.ptr = ring_out, out.count = sizeof ring_out;
    in.ptr = ring_in, in.count = sizeof ring_in;
    if (norn_send(ring_world, &out, rank, 1, NULL, NULL) != NORN_OK) return 1;
    if (norn_recv(ring_world, &in, rank, 1, NULL, &token) != NORN_OK) return 1;
    return norn_on_complete(ring, token, again, NULL) != NORN_OK;
}
static void again(void *arg, norn_token token, norn_status status) {
    (void)arg, (void)token;
    if (status == NORN_OK) start();
}

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
    ring = rt, ring_world = world;
    if (argc > 1 && !strcmp(argv[1], "busy")) {
        CHECK(start() == 0);
        struct timespec moment = {0, 20000000};
        nanosleep(&moment, NULL);
    }
    MPI_Finalize();
    if (pending) {
        norn_error_info info = NORN_ERROR_INFO_INIT;
        CHECK(norn_await(rt, token, 20000000000) == NORN_E_PROPAGATED);
        CHECK(norn_error(rt, token, &info) == NORN_OK);
        CHECK(info.cause_status == NORN_E_MPI && strstr(info.text, "MPI_Finalize"));
    }
    norn_status closed = norn_close_with(rt, NORN_DRAIN, 20000000000);
    CHECK(closed == NORN_OK || closed == NORN_E_MPI || closed == NORN_E_PROPAGATED || closed == NORN_E_CLOSED);
    if (rank == 0) printf("finalized: ok\n");
    return 0;
}
