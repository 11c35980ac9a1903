/*
 * Edges between two ranks against raw MPI in the same run, in turn: latency, bandwidth, many in flight, and how much of a
 * transfer is hidden by computation. One line a figure: what, raw, norn, ratio. Rank 0 prints medians of the repetitions.
 *
 *     mpirun -n 2 mpi_edges [REPETITIONS]
 *
 * norn runs with zero workers for the first three, so that the awaiting thread polls as MPI_Waitall does, and with the
 * opener as the one worker for the last. Both sides use the same communicator size, buffers and placement.
 */
#include <mpi.h>
#include <norn.h>
#include <norn_mpi.h>

#include "mpi_pair.h"

static norn_runtime *rt;
static norn_world *world;

static void must(norn_status status) {
    if (status == NORN_OK) return;
    fprintf(stderr, "mpi_edges: rank %d: %s: %s\n", me, norn_status_name(status), norn_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static norn_slice bytes_at(char *memory, size_t bytes) {
    norn_slice slice = NORN_SLICE_INIT;
    slice.ptr = memory;
    slice.type = NORN_BYTE;
    slice.count = bytes;
    return slice;
}

static norn_token sent(char *from, size_t bytes, int64_t key) {
    norn_slice slice = bytes_at(from, bytes);
    norn_token token;
    must(norn_send(world, &slice, other, key, NULL, &token));
    return token;
}

static norn_token received(char *to, size_t bytes, int64_t key) {
    norn_slice slice = bytes_at(to, bytes);
    norn_token token;
    must(norn_recv(world, &slice, other, key, NULL, &token));
    return token;
}

/* ---- seconds of one message ---- */

static double ping_norn(size_t bytes) {
    double start = MPI_Wtime();
    for (int i = 0; i < 2 * pings; i++)
        must(norn_await(rt, i % 2 == me ? sent(outgoing, bytes, 0) : received(incoming, bytes, 0), -1));
    return (MPI_Wtime() - start) / (2 * pings);
}

static double stream_norn(size_t bytes) {
    int count = transfers_of(bytes);
    norn_token tokens[TRANSFERS];
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < count; i++)
        tokens[i] = me == 0 ? sent(outgoing, bytes, 0) : received(incoming, bytes, 0);
    must(norn_await_all(rt, tokens, (uint64_t)count, -1));
    MPI_Barrier(MPI_COMM_WORLD);
    return (MPI_Wtime() - start) / count;
}

static double many_norn(size_t bytes) {
    static norn_token tokens[2 * IN_FLIGHT];
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < IN_FLIGHT; i++) tokens[i] = received(incoming + (size_t)i * bytes, bytes, i);
    for (int i = 0; i < IN_FLIGHT; i++) tokens[IN_FLIGHT + i] = sent(outgoing, bytes, IN_FLIGHT - 1 - i);
    must(norn_await_all(rt, tokens, 2 * IN_FLIGHT, -1));
    return (MPI_Wtime() - start) / IN_FLIGHT;
}

/* ---- */

/* Work that a compiler cannot drop, about a microsecond a unit. */
static int32_t compute(norn_self *self, void *arg) {
    volatile double x = 1;
    (void)self;
    for (int i = 0; i < *(const int *)arg * 250; i++) x = x * 1.0000001 + 1e-9;
    return 0;
}

/*
 * Seconds that the copy of a message takes of the core of the rank that makes it. On one node MPI copies by a core, which cannot
 * be hidden: here the receiver's, and what it takes is seen where raw MPI receives what is already there. For the sender, who
 * may have to copy into shared memory, a copy in its own memory stands for that.
 */
static double copy_alone(size_t bytes) {
    MPI_Request request = MPI_REQUEST_NULL;
    double seconds;
    if (me == 0) MPI_Isend(outgoing, (int)bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    if (me == 1) MPI_Recv(incoming, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    seconds = MPI_Wtime() - began;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 1) return seconds;
    began = MPI_Wtime();
    memcpy(incoming, outgoing, bytes);
    return MPI_Wtime() - began;
}

/* Time of a 1 MiB transfer, of computation alone, and of both, one thread a rank; the copy is taken off what the transfer adds. */
static void overlap(void) {
    enum { SIZE = 1 << 20, TASKS = 20 };
    static double transfer[MOST], work[MOST], both[MOST], copy[MOST];
    static int units = 50;
    for (int k = -1; k < repetitions; k++) {
        double copied = copy_alone(SIZE);
        if (k >= 0) copy[k] = copied;
        for (int way = 0; way < 3; way++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double start = MPI_Wtime();
            norn_token token = {0};
            if (way != 1) token = me == 0 ? sent(outgoing, SIZE, 0) : received(incoming, SIZE, 0);
            for (int i = 0; i < TASKS && way != 0; i++) {
                norn_task task = NORN_TASK_INIT;
                task.run = compute;
                task.arg = &units;
                must(norn_submit(rt, &task, NULL));
            }
            must(norn_await(rt, token, -1));
            must(norn_drain(rt, -1));
            double seconds = MPI_Wtime() - start;
            if (k >= 0) (way == 0 ? transfer : way == 1 ? work : both)[k] = seconds;
        }
    }
    double t = median(transfer) * 1e6, w = median(work) * 1e6, b = median(both) * 1e6, c = median(copy) * 1e6;
    double shown = b - w - c > 0 ? b - w - c : 0;
    printf("rank %d: 1 MiB beside computation: transfer alone %.1f us (a copy %.1f us), work alone %.1f us, both %.1f us: %.0f %% "
           "hidden\n", me, t, c, w, b, 100 * (1 - shown / t));
}

static void open_with(int workers, uint64_t flags) {
    norn_config config = NORN_CONFIG_INIT;
    config.workers = workers;
    config.flags = flags;
    must(norn_open(&config, &rt));
    must(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world));
}

int main(int argc, char **argv) {
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    begin_pair(argc, argv, level);
    open_with(0, 0);
    measure_pair("norn", ping_norn, stream_norn, many_norn);
    must(norn_close(rt));
    open_with(1, NORN_CALLER_WORKS);
    overlap();
    must(norn_close(rt));
    end_pair();
    MPI_Finalize();
    return 0;
}
