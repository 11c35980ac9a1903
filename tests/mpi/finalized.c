#define _POSIX_C_SOURCE 200809L
// MPI_Finalize before norn_close: what was under way fails with a sentence, nothing hangs, and the close returns.
//
// Without an argument the world is idle. "pending": a receive is posted that nobody serves. "busy": a worker sends and
// receives without end when MPI_Finalize is called. In every case nobody of norn's may be inside MPI any more when norn
// has heard of it, nor come back: an attribute of MPI_COMM_SELF older than norn's is deleted after it, and looks.
//
// A second argument is the thread level. Where a thread may be inside MPI when MPI_Finalize begins, MPICH needs
// MPI_THREAD_SERIALIZED: at MPI_THREAD_MULTIPLE it takes its locks away before it tells anybody, and aborts at one that
// was taken just then.
#include <mpi.h>
#include <norn_mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// What passes call all the time, in front of MPI's own: threads inside, and calls since norn was told of the end.
static atomic_int inside, told, late;
#define WATCHED(call)                                                                                                  \
    do {                                                                                                               \
        if (atomic_load(&told)) atomic_fetch_add(&late, 1);                                                            \
        atomic_fetch_add(&inside, 1);                                                                                  \
        int code_ = (call);                                                                                            \
        atomic_fetch_sub(&inside, 1);                                                                                  \
        return code_;                                                                                                  \
    } while (0)
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) { WATCHED(PMPI_Test(request, flag, status)); }
int MPI_Testsome(int in, MPI_Request *requests, int *out, int *indices, MPI_Status *statuses) {
    WATCHED(PMPI_Testsome(in, requests, out, indices, statuses));
}
int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
    WATCHED(PMPI_Isend(buffer, count, type, to, tag, comm, request));
}
int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request) {
    WATCHED(PMPI_Irecv(buffer, count, type, from, tag, comm, request));
}
int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
    WATCHED(PMPI_Iprobe(from, tag, comm, flag, status));
}
int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *handler) {
    WATCHED(PMPI_Comm_get_errhandler(comm, handler));
}
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) { WATCHED(PMPI_Comm_set_errhandler(comm, handler)); }

static void sleep_ms(int ms) {
    struct timespec moment = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&moment, NULL);
}

static int called, left_inside;
static int after_norn(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    called = 1;
    left_inside = atomic_load(&inside);
    atomic_store(&told, 1);
    // Time for a thread that is still about to call.
    sleep_ms(20);
    return MPI_SUCCESS;
}

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
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
    int provided, rank, size, key, pending = argc > 1 && !strcmp(argv[1], "pending");
    norn_runtime *rt;
    norn_world *world;
    norn_token token = {0};
    char memory[8];
    norn_slice slice = NORN_SLICE_INIT;
    slice.ptr = memory;
    slice.count = sizeof memory;
    MPI_Init_thread(&argc, &argv, levels[argc > 2 ? atoi(argv[2]) & 3 : 3], &provided);
    // The older the attribute, the later it is deleted.
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, after_norn, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
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
        sleep_ms(20);
    }
    MPI_Finalize();
    CHECK(called && left_inside == 0 && atomic_load(&late) == 0);
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
