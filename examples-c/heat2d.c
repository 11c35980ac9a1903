/*
 * Heat in a square plate over several ranks: halo exchange as edges, convergence by a maximum over all ranks.
 *
 * The plate is cut into one strip of rows a rank, and a strip into bands. Each step is a task a band: it reads three
 * bands of the old grid and writes one of the new. The rows at the ends of a strip go to the neighbours as messages, and a
 * message is an operation like any other: it reads the band it sends from, or writes the halo row that the
 * neighbour's band reads next. So a band in the middle of a strip never waits for a message, and a step begins
 * where it can while the one before still runs elsewhere.
 *
 * Every CHECK steps the largest change is reduced over all ranks, and the loop ends when it is small enough. At the end
 * rank 0 gathers the plate and compares it with a plain loop on one rank, bit by bit.
 *
 *     mpirun -n 4 heat2d [--n N] [--steps MOST] [--tolerance T] [--bands BANDS] [--workers W]
 */
#include <mpi.h>
#include <norn.h>
#include <norn_mpi.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECK = 20, UP = 0, DOWN = 1 }; /* steps between two looks; keys of the messages, by the way they travel */
static const double DIFFUSION = 0.2;   /* below 1/4: stable */

struct options {
    long n, steps, bands, workers;
    double tolerance;
};

/* What the task of one band reads and writes. */
struct band {
    const double *from; /* first row in the old grid */
    double *to;         /* first row in the new grid */
    long rows, width;
    double *change; /* largest change of the step */
};

/* One rank's part of the plate, twice: steps go from one grid to the other. */
struct strip {
    long first, rows, width, bands;
    int rank, size;
    double *grid[2];        /* rows + 2 rows of `width`, a halo row at each end */
    struct band *work[2];   /* work[g][b]: band b of the step from grid g */
    double *changes, worst; /* of each band, and of all */
    norn_data *part[2];     /* part[g]: the upper halo row, the bands, the lower halo row */
    norn_data *change, all; /* the changes as data */
};

static int world_rank;

/* Any error ends all ranks: an example has nothing to rescue. */
static void must(norn_status status, const char *what) {
    if (status == NORN_OK)
        return;
    fprintf(stderr, "heat2d: rank %d: %s: %s: %s\n", world_rank, what, norn_status_name(status), norn_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *zeroed(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (memory == NULL) {
        fprintf(stderr, "heat2d: rank %d: no memory for %zu times %zu bytes\n", world_rank, count, size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

/* One step on `rows` rows. The same on one rank and on many, so the same bits come out. Returns the largest change. */
static double step_rows(const double *from, double *to, long rows, long width) {
    double worst = 0;
    for (long i = 0; i < rows; i++)
        for (long j = 1; j + 1 < width; j++) {
            const double *p = from + i * width + j;
            double next = p[0] + DIFFUSION * (p[-1] + p[1] + p[-width] + p[width] - 4 * p[0]);
            double change = fabs(next - p[0]);
            if (change > worst)
                worst = change;
            to[i * width + j] = next;
        }
    return worst;
}

static int32_t step_band(norn_self *self, void *arg) {
    const struct band *band = arg;
    (void)self;
    *band->change = step_rows(band->from, band->to, band->rows, band->width);
    return 0;
}

static int32_t find_worst(norn_self *self, void *arg) {
    struct strip *strip = arg;
    (void)self;
    strip->worst = 0;
    for (long b = 0; b < strip->bands; b++)
        if (strip->changes[b] > strip->worst)
            strip->worst = strip->changes[b];
    return 0;
}

/* The edge of the plate is hot above and cold elsewhere. `first`: the plate's number of the first row. */
static void heat(double *grid, long first, long width) {
    if (first == 0)
        for (long j = 0; j < width; j++)
            grid[j] = 1;
}

static norn_data registered(norn_runtime *rt, void *memory, size_t bytes, const char *name) {
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data data;
    desc.ptr = memory;
    desc.bytes = bytes;
    desc.name = name;
    must(norn_data_register(rt, &desc, &data), name);
    return data;
}

/* First row of part `k` of `parts` of `n` rows. */
static long begin_of(long n, long parts, long k) { return n / parts * k + (k < n % parts ? k : n % parts); }

static void strip_create(struct strip *strip, norn_runtime *rt, const struct options *options) {
    long n = options->n;
    strip->width = n + 2;
    strip->first = begin_of(n, strip->size, strip->rank);
    strip->rows = begin_of(n, strip->size, strip->rank + 1) - strip->first;
    strip->bands = options->bands < strip->rows ? options->bands : strip->rows;
    size_t row = (size_t)strip->width * sizeof(double), bands = (size_t)strip->bands;
    strip->changes = zeroed(bands, sizeof(double));
    strip->change = zeroed(bands, sizeof(norn_data));
    for (int g = 0; g < 2; g++) {
        strip->grid[g] = zeroed((size_t)strip->rows + 2, row);
        strip->work[g] = zeroed(bands, sizeof(struct band));
        strip->part[g] = zeroed(bands + 2, sizeof(norn_data));
        heat(strip->grid[g], strip->first, strip->width);
    }
    for (int g = 0; g < 2; g++) {
        strip->part[g][0] = registered(rt, strip->grid[g], row, "upper halo");
        for (long b = 0; b < strip->bands; b++) {
            long begin = begin_of(strip->rows, strip->bands, b), end = begin_of(strip->rows, strip->bands, b + 1);
            long at = (begin + 1) * strip->width;
            strip->work[g][b] = (struct band){strip->grid[g] + at, strip->grid[1 - g] + at, end - begin, strip->width,
                                              &strip->changes[b]};
            strip->part[g][b + 1] = registered(rt, strip->grid[g] + at, (size_t)(end - begin) * row, "band");
        }
        strip->part[g][bands + 1] = registered(rt, strip->grid[g] + (strip->rows + 1) * strip->width, row, "lower halo");
    }
    for (long b = 0; b < strip->bands; b++)
        strip->change[b] = registered(rt, &strip->changes[b], sizeof(double), "change of a band");
    strip->all = registered(rt, &strip->worst, sizeof(double), "change of all");
}

static void strip_free(struct strip *strip) {
    for (int g = 0; g < 2; g++) {
        free(strip->grid[g]);
        free(strip->work[g]);
        free(strip->part[g]);
    }
    free(strip->changes);
    free(strip->change);
}

/* The step from grid g to the other one. */
static void submit_step(norn_runtime *rt, struct strip *strip, int g) {
    for (long b = 0; b < strip->bands; b++) {
        norn_data *old = strip->part[g] + b;
        norn_access accesses[] = {norn_read(old[0]), norn_read(old[1]), norn_read(old[2]),
                                  norn_write(strip->part[1 - g][b + 1]), norn_write(strip->change[b])};
        norn_task task = NORN_TASK_INIT;
        task.run = step_band;
        task.arg = &strip->work[g][b];
        task.name = "step";
        task.accesses = accesses;
        task.access_count = sizeof accesses / sizeof accesses[0];
        must(norn_submit(rt, &task, NULL), "step");
    }
}

/* The ends of grid g to the neighbours, and their ends to here. Where a plate ends there is nobody. */
static void exchange_halos(norn_world *world, struct strip *strip, int g) {
    norn_data *part = strip->part[g];
    long bands = strip->bands, width = strip->width;
    norn_slice row = {.type = NORN_F64, .count = (uint64_t)width};
    if (strip->rank > 0) {
        norn_slice first = row, halo = row;
        first.data = part[1];
        halo.data = part[0];
        must(norn_send(world, &first, strip->rank - 1, UP, NULL, NULL), "send up");
        must(norn_recv(world, &halo, strip->rank - 1, DOWN, NULL, NULL), "receive from above");
    }
    if (strip->rank + 1 < strip->size) {
        norn_slice last = row, halo = row;
        last.data = part[bands];
        last.offset = (uint64_t)((strip->work[g][bands - 1].rows - 1) * width);
        halo.data = part[bands + 1];
        must(norn_send(world, &last, strip->rank + 1, DOWN, NULL, NULL), "send down");
        must(norn_recv(world, &halo, strip->rank + 1, UP, NULL, NULL), "receive from below");
    }
}

/* The largest change of the last step on all ranks. */
static double change_everywhere(norn_runtime *rt, norn_world *world, struct strip *strip) {
    norn_access *accesses = zeroed((size_t)strip->bands + 1, sizeof *accesses);
    for (long b = 0; b < strip->bands; b++)
        accesses[b] = norn_read(strip->change[b]);
    accesses[strip->bands] = norn_write(strip->all);
    norn_task task = NORN_TASK_INIT;
    task.run = find_worst;
    task.arg = strip;
    task.name = "worst";
    task.accesses = accesses;
    task.access_count = (uint64_t)strip->bands + 1;
    must(norn_submit(rt, &task, NULL), "worst");
    free(accesses);

    norn_slice worst = {.data = strip->all, .type = NORN_F64, .count = 1};
    norn_token token;
    must(norn_allreduce(world, NULL, &worst, NORN_MAX, NULL, &token), "allreduce");
    must(norn_await(rt, token, -1), "allreduce");
    return strip->worst; /* nothing writes it before the next call */
}

/* The plate of all ranks on rank 0, without its border rows. */
static double *gather(norn_runtime *rt, norn_world *world, const struct strip *strip, int g, long n) {
    double *plate = strip->rank == 0 ? zeroed((size_t)(n * strip->width), sizeof(double)) : NULL;
    uint64_t *counts = zeroed((size_t)strip->size, sizeof *counts);
    for (long k = 0; k < strip->size; k++)
        counts[k] = (uint64_t)((begin_of(n, strip->size, k + 1) - begin_of(n, strip->size, k)) * strip->width);
    norn_slice from = {.ptr = strip->grid[g] + strip->width, .type = NORN_F64, .count = counts[strip->rank]};
    norn_slice to = {.ptr = plate, .type = NORN_F64, .count = (uint64_t)(n * strip->width)};
    norn_token token;
    must(norn_gather(world, &from, strip->rank == 0 ? &to : NULL, counts, 0, NULL, &token), "gather");
    must(norn_await(rt, token, -1), "gather");
    free(counts);
    return plate;
}

/* The same steps in a plain loop. Returns whether every bit is the same. */
static int agrees_with_serial(const double *plate, long n, long steps) {
    long width = n + 2;
    size_t all = (size_t)(width * width);
    double *grid[2] = {zeroed(all, sizeof(double)), zeroed(all, sizeof(double))};
    heat(grid[0], 0, width);
    heat(grid[1], 0, width);
    for (long s = 0; s < steps; s++)
        step_rows(grid[s % 2] + width, grid[1 - s % 2] + width, n, width);
    int same = memcmp(grid[steps % 2] + width, plate, (size_t)(n * width) * sizeof(double)) == 0;
    free(grid[0]);
    free(grid[1]);
    return same;
}

static long run(norn_runtime *rt, norn_world *world, struct strip *strip, const struct options *options, double *worst) {
    long steps = 0;
    *worst = INFINITY;
    while (steps < options->steps && *worst > options->tolerance) {
        do {
            submit_step(rt, strip, (int)(steps % 2));
            steps++;
            exchange_halos(world, strip, (int)(steps % 2));
        } while (steps % CHECK != 0 && steps < options->steps);
        *worst = change_everywhere(rt, world, strip);
    }
    must(norn_drain(rt, -1), "drain");
    return steps;
}

static int parse(int argc, char **argv, struct options *options) {
    for (int i = 1; i < argc; i += 2) {
        char *end = argv[i];
        errno = 0;
        if (i + 1 == argc)
            return i;
        if (strcmp(argv[i], "--tolerance") == 0) {
            options->tolerance = strtod(argv[i + 1], &end);
            if (errno != 0 || *end != '\0' || !(options->tolerance >= 0))
                return i;
            continue;
        }
        long *number = strcmp(argv[i], "--n") == 0         ? &options->n
                       : strcmp(argv[i], "--steps") == 0   ? &options->steps
                       : strcmp(argv[i], "--bands") == 0   ? &options->bands
                       : strcmp(argv[i], "--workers") == 0 ? &options->workers
                                                           : NULL;
        if (number == NULL)
            return i;
        *number = strtol(argv[i + 1], &end, 10);
        if (errno != 0 || end == argv[i + 1] || *end != '\0' || *number < (number == &options->workers ? 0 : 1) ||
            *number > 1000000)
            return i;
    }
    return 0;
}

int main(int argc, char **argv) {
    struct options options = {.n = 256, .steps = 400, .bands = 4, .workers = 1, .tolerance = 1e-5};
    struct strip strip = {0};
    int level, wrong, same = 1;

    /* Any level will do; with MPI_THREAD_FUNNELED or less, messages go on only while this thread is inside norn. */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &strip.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &strip.size);
    world_rank = strip.rank;
    wrong = parse(argc, argv, &options);
    if (wrong != 0 || options.n < strip.size) {
        if (strip.rank == 0 && wrong != 0)
            fprintf(stderr, "heat2d: %s is wrong\nusage: heat2d [--n N] [--steps MOST] [--tolerance T] [--bands BANDS] "
                            "[--workers W]\n", argv[wrong]);
        else if (strip.rank == 0)
            fprintf(stderr, "heat2d: --n %ld is less than %d ranks\n", options.n, strip.size);
        MPI_Finalize();
        return 2;
    }

    norn_config config = NORN_CONFIG_INIT;
    norn_runtime *rt;
    norn_world *world;
    config.workers = (int32_t)options.workers;
    must(norn_open(&config, &rt), "open");
    must(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world), "attach");
    strip_create(&strip, rt, &options);

    double worst, start = MPI_Wtime();
    long steps = run(rt, world, &strip, &options, &worst);
    double seconds = MPI_Wtime() - start;
    double *plate = gather(rt, world, &strip, (int)(steps % 2), options.n);

    if (strip.rank == 0) {
        same = agrees_with_serial(plate, options.n, steps);
        printf("%ld x %ld points, %d ranks, %ld bands each: %ld steps in %.3f s, last change %.3g\n", options.n, options.n,
               strip.size, strip.bands, steps, seconds, worst);
        printf("%s\n", same ? "every bit as on one rank" : "NOT as on one rank");
    }
    free(plate);
    must(norn_close(rt), "close");
    strip_free(&strip);
    MPI_Finalize();
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
