/*
 * What the programs that measure messages between two ranks share: raw MPI's side of each measure, taken in turn with the
 * other side in the same process, and the output.
 *
 * One line a figure: what, raw, the other, how they compare. Rank 0 prints medians of the repetitions.
 */
#ifndef NORN_BENCHES_MPI_PAIR_H
#define NORN_BENCHES_MPI_PAIR_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 8 << 20, IN_FLIGHT = 1000, SMALL = 64, TRANSFERS = 64, MOST = 101 };

static int me, other, repetitions = 15, pings = 2000; /* rounds of the ping-pong */
static char *outgoing, *incoming;

/* From rank 0 to rank 1, one after the other, as far apart as the size asks. */
static int transfers_of(size_t bytes) { return bytes > (1 << 20) ? 16 : TRANSFERS; }

/* ---- raw MPI: seconds of one message ---- */

static double ping_raw(size_t bytes) {
    MPI_Request request;
    double start = MPI_Wtime();
    for (int i = 0; i < 2 * pings; i++) {
        if (i % 2 == me)
            MPI_Isend(outgoing, (int)bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &request);
        else
            MPI_Irecv(incoming, (int)bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &request);
        MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    }
    return (MPI_Wtime() - start) / (2 * pings);
}

static double stream_raw(size_t bytes) {
    int count = transfers_of(bytes);
    MPI_Request requests[TRANSFERS];
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

/* ---- figures ---- */

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values) {
    qsort(values, (size_t)repetitions, sizeof *values, compare);
    return values[repetitions / 2];
}

static void measure(const char *what, const char *who, double (*raw)(size_t), double (*theirs)(size_t), size_t bytes) {
    static double by_raw[MOST], by_theirs[MOST];
    for (int k = -1; k < repetitions; k++) { /* the first is for caches and connections */
        double a = raw(bytes), b = theirs(bytes);
        if (k >= 0) by_raw[k] = a, by_theirs[k] = b;
    }
    double a = median(by_raw) * 1e6, b = median(by_theirs) * 1e6;
    if (me != 0) return;
    if (bytes >= 65536)
        printf("%-34s raw %9.2f GB/s  %s %9.2f GB/s  %.3f of raw\n", what, (double)bytes / a / 1e3, who,
               (double)bytes / b / 1e3, a / b);
    else
        printf("%-34s raw %9.3f us    %s %9.3f us    %+.3f us, %.2f times\n", what, a, who, b, b - a, b / a);
    fflush(stdout);
}

/* Begins on two ranks: repetitions from the command line, buffers, and the name of the MPI. `level`: as MPI has given. */
static void begin_pair(int argc, char **argv, int level) {
    int size;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1) repetitions = atoi(argv[1]);
    if (size != 2 || repetitions < 1 || repetitions > MOST) {
        if (me == 0) fprintf(stderr, "usage: mpirun -n 2 %s [REPETITIONS, at most %d]\n", argv[0], MOST);
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
}

/* The figures that can be had of any messages between two ranks. */
static void measure_pair(const char *who, double (*ping)(size_t), double (*stream)(size_t), double (*many)(size_t)) {
    measure("8 B, half a round trip", who, ping_raw, ping, 8);
    measure("64 KiB", who, stream_raw, stream, 64 << 10);
    measure("1 MiB", who, stream_raw, stream, 1 << 20);
    measure("8 MiB", who, stream_raw, stream, LARGEST);
    measure("64 B, 1000 in flight, reversed", who, many_raw, many, SMALL);
}

static void end_pair(void) {
    free(outgoing);
    free(incoming);
}

#endif /* NORN_BENCHES_MPI_PAIR_H */
