/*
 * Edges between two ranks against raw MPI in the same run, in turn: latency, bandwidth, many in flight, and how much of a
 * transfer is hidden by computation. One line a figure: what, raw, norn, ratio. Rank 0 prints medians of the repetitions.
 *
 *     mpirun -n 2 mpi_edges [REPETITIONS]
 *
 * norn runs with zero workers for the first three, so that the awaiting thread polls as MPI_Waitall does, and with one
 * for the last. Both sides use the same communicator size, buffers and placement.
 */
#include <mpi.h>
#include <norn.h>
#include <norn_mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 8 << 20, IN_FLIGHT = 1000, SMALL = 64, PINGS = 2000, MOST = 101 };

static int me, other, repetitions = 15;
static norn_runtime *rt;
static norn_world *world;
static char *outgoing, *incoming;

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

/* ---- what is measured: seconds of one repetition ---- */

static double ping_raw(size_t bytes) {
    MPI_Request request;
    double start = MPI_Wtime();
    for (int i = 0; i < 2 * PINGS; i++) {
        if (i % 2 == me)
            MPI_Isend(outgoing, (int)bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &request);
        else
            MPI_Irecv(incoming, (int)bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &request);
        MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    }
    return (MPI_Wtime() - start) / (2 * PINGS);
}

static double ping_norn(size_t bytes) {
    double start = MPI_Wtime();
    for (int i = 0; i < 2 * PINGS; i++)
        must(norn_await(rt, i % 2 == me ? sent(outgoing, bytes, 0) : received(incoming, bytes, 0), -1));
    return (MPI_Wtime() - start) / (2 * PINGS);
}

/* From rank 0 to rank 1, one after the other, as far apart as the size asks. */
static int transfers_of(size_t bytes) { return bytes > (1 << 20) ? 16 : 64; }

static double stream_raw(size_t bytes) {
    int count = transfers_of(bytes);
    MPI_Request requests[64];
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < count; i++)
        if (me == 0)
            MPI_Isend(outgoing, (int)bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(incoming, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    return (MPI_Wtime() - start) / count;
}

static double stream_norn(size_t bytes) {
    int count = transfers_of(bytes);
    norn_token tokens[64];
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < count; i++)
        tokens[i] = me == 0 ? sent(outgoing, bytes, 0) : received(incoming, bytes, 0);
    must(norn_await_all(rt, tokens, (uint64_t)count, -1));
    MPI_Barrier(MPI_COMM_WORLD);
    return (MPI_Wtime() - start) / count;
}

/* Both ways, received in the reverse of the order they are sent in. */
static double many_raw(size_t bytes) {
    static MPI_Request requests[2 * IN_FLIGHT];
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < IN_FLIGHT; i++)
        MPI_Irecv(incoming + (size_t)i * bytes, (int)bytes, MPI_BYTE, other, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < IN_FLIGHT; i++)
        MPI_Isend(outgoing, (int)bytes, MPI_BYTE, other, IN_FLIGHT - 1 - i, MPI_COMM_WORLD, &requests[IN_FLIGHT + i]);
    MPI_Waitall(2 * IN_FLIGHT, requests, MPI_STATUSES_IGNORE);
    return (MPI_Wtime() - start) / IN_FLIGHT;
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

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values) {
    qsort(values, (size_t)repetitions, sizeof *values, compare);
    return values[repetitions / 2];
}

static void measure(const char *what, double (*raw)(size_t), double (*norn)(size_t), size_t bytes) {
    static double by_raw[MOST], by_norn[MOST];
    for (int k = -1; k < repetitions; k++) { /* the first is for caches and connections */
        double a = raw(bytes), b = norn(bytes);
        if (k >= 0) by_raw[k] = a, by_norn[k] = b;
    }
    double a = median(by_raw) * 1e6, b = median(by_norn) * 1e6;
    if (me != 0) return;
    if (bytes >= 65536)
        printf("%-34s raw %9.2f GB/s  norn %9.2f GB/s  %.3f of raw\n", what, (double)bytes / a / 1e3, (double)bytes / b / 1e3,
               a / b);
    else
        printf("%-34s raw %9.3f us    norn %9.3f us    %+.3f us, %.2f times\n", what, a, b, b - a, b / a);
    fflush(stdout);
}

/* Work that a compiler cannot drop, about a microsecond a unit. */
static int32_t compute(norn_self *self, void *arg) {
    volatile double x = 1;
    (void)self;
    for (int i = 0; i < *(const int *)arg * 250; i++) x = x * 1.0000001 + 1e-9;
    return 0;
}

/* Time of a 1 MiB transfer, of computation alone, and of both, by norn with one worker. */
static void overlap(void) {
    enum { SIZE = 1 << 20, TASKS = 20 };
    static double transfer[MOST], work[MOST], both[MOST];
    static int units = 50;
    for (int k = -1; k < repetitions; k++)
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
    double t = median(transfer) * 1e6, w = median(work) * 1e6, b = median(both) * 1e6;
    printf("rank %d: 1 MiB beside computation: transfer alone %.1f us, work alone %.1f us, both %.1f us: %.0f %% hidden\n", me, t, w,
           b, 100 * (t + w - b) / t);
}

static void open_with(int workers) {
    norn_config config = NORN_CONFIG_INIT;
    config.workers = workers;
    must(norn_open(&config, &rt));
    must(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world));
}

int main(int argc, char **argv) {
    int level, size;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1) repetitions = atoi(argv[1]);
    if (size != 2 || repetitions < 1 || repetitions > MOST) {
        if (me == 0) fprintf(stderr, "usage: mpirun -n 2 mpi_edges [REPETITIONS, at most %d]\n", MOST);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    other = 1 - me;
    outgoing = malloc(LARGEST);
    incoming = malloc(LARGEST);
    if (outgoing == NULL || incoming == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    memset(outgoing, 1, LARGEST);
    memset(incoming, 2, LARGEST);
    if (me == 0) {
        char text[MPI_MAX_LIBRARY_VERSION_STRING];
        int length;
        MPI_Get_library_version(text, &length);
        text[strcspn(text, ",\n")] = '\0';
        printf("%s, thread level %d\n", text, level);
    }
    open_with(0);
    measure("8 B, half a round trip", ping_raw, ping_norn, 8);
    measure("64 KiB", stream_raw, stream_norn, 64 << 10);
    measure("1 MiB", stream_raw, stream_norn, 1 << 20);
    measure("8 MiB", stream_raw, stream_norn, LARGEST);
    measure("64 B, 1000 in flight, reversed", many_raw, many_norn, SMALL);
    must(norn_close(rt));
    open_with(1);
    overlap();
    must(norn_close(rt));
    free(outgoing);
    free(incoming);
    MPI_Finalize();
    return 0;
}
