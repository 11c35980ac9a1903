/*
 * What it costs to look for a message that is late, against how much later it is seen for that: for each share of a core
 * that norn may use (idle_percent, NORN_IDLE), the share that the waiting process did use and the time from just before
 * the send until the await has returned. Raw MPI's blocking receive, which looks all the time, in the same run.
 *
 *     mpirun -n 2 mpi_late [MESSAGES]
 *
 * Rank 1 sends after 5 to 15 ms of sleep, rank 0 waits. Then both sleep for a second with a world attached and nothing posted:
 * how often a thread of norn's woke in that time.
 */
#include <mpi.h>
#include <norn.h>
#include <norn_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { MOST = 1000 };
static int me, messages = 100;

static void must(norn_status status) {
    if (status == NORN_OK) return;
    fprintf(stderr, "mpi_late: rank %d: %s: %s\n", me, norn_status_name(status), norn_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* One clock for both ranks, which are on one node. */
static double seconds_of(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void sleep_for(double seconds) {
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static norn_runtime *rt;
static norn_world *world;

static void pass_by_norn(double *stamp) {
    norn_slice slice = NORN_SLICE_INIT;
    norn_token token;
    slice.ptr = stamp;
    slice.type = NORN_F64;
    slice.count = 1;
    must(me == 1 ? norn_send(world, &slice, 0, 0, NULL, &token) : norn_recv(world, &slice, 1, 0, NULL, &token));
    must(norn_await(rt, token, -1));
}

static void pass_by_mpi(double *stamp) {
    if (me == 1)
        MPI_Send(stamp, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(stamp, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* One line: the share used, and the lateness in the middle and of nine in ten. Returns the former in microseconds. */
static double measure(const char *what, void (*pass)(double *), double raw) {
    static double late[MOST];
    double wall = 0, used = 0;
    for (int k = 0; k < messages; k++) {
        double stamp = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        double start = seconds_of(CLOCK_MONOTONIC), cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        if (me == 1) {
            sleep_for(0.005 + 0.010 * k / messages);
            stamp = seconds_of(CLOCK_MONOTONIC);
        }
        pass(&stamp);
        double end = seconds_of(CLOCK_MONOTONIC);
        late[k] = (end - stamp) * 1e6;
        wall += end - start;
        used += seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    }
    qsort(late, (size_t)messages, sizeof *late, compare);
    double middle = late[messages / 2];
    if (me == 0)
        printf("%-12s %6.1f %% of a core   late by %8.1f us (nine in ten: %8.1f), raw + %.1f\n", what, 100 * used / wall, middle,
               late[messages * 9 / 10], middle - raw);
    fflush(stdout);
    return middle;
}

static void open_with(int32_t percent) {
    norn_config config = NORN_CONFIG_INIT;
    norn_world_config with = NORN_WORLD_CONFIG_INIT;
    config.workers = 1;
    with.idle_percent = percent;
    must(norn_open(&config, &rt));
    must(norn_world_attach(rt, MPI_COMM_WORLD, &with, &world));
}

static void rest(void) {
    struct rusage before, after;
    open_with(20);
    sleep_for(0.1); /* until all threads sleep */
    getrusage(RUSAGE_SELF, &before);
    double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    sleep_for(1);
    cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    getrusage(RUSAGE_SELF, &after);
    if (me == 0) /* one of the switches is this thread's own sleep */
        printf("nothing posted, one second: %ld wakes, %.4f %% of a core\n", after.ru_nvcsw - before.ru_nvcsw - 1, 100 * cpu);
    must(norn_close(rt));
}

int main(int argc, char **argv) {
    const int percents[] = {1, 2, 5, 10, 20, 50, 100};
    int level, size;
    char what[32];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1) messages = atoi(argv[1]);
    if (size != 2 || messages < 1 || messages > MOST) {
        if (me == 0) fprintf(stderr, "usage: mpirun -n 2 mpi_late [MESSAGES, at most %d]\n", MOST);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    double raw = measure("raw MPI", pass_by_mpi, 0);
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
        open_with(percents[i]);
        snprintf(what, sizeof what, "norn, %d %%", percents[i]);
        measure(what, pass_by_norn, raw);
        must(norn_close(rt));
    }
    rest();
    MPI_Finalize();
    return 0;
}
