/*
 * A halo exchange between two ranks written by hand, with nonblocking messages, and as edges of norn, in turn in one
 * process: heat in a plate of two strips, each cut into bands of rows. The same kernel, one thread a rank.
 *
 *     mpirun -n 2 mpi_heat [REPETITIONS]
 *
 * By hand: receive and send are posted, the bands that need no halo are computed, with a test of the messages after each, then comes
 * the wait and the band at the border. norn: as examples-c/heat2d.c, all steps submitted, the opener works.
 *
 * A task a band, and then four bands a task: a task of norn's costs as much as the smallest of these bands, and who writes a code
 * makes his tasks larger than that. By hand there are no tasks, and the messages are tested after each band in either case.
 *
 * Large bands all cost the same. Small uneven bands cost one to eight times a plain one, another each step, as where a part of
 * the points takes an inner iteration: by hand each step costs what the slower rank takes, with edges a rank may be ahead.
 */
#include <mpi.h>
#include <norn.h>
#include <norn_mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BANDS = 64, MOST = 101 };

static int me, repetitions = 5;

/* One strip: `bands` bands of `height` rows of `width` points, a halo row at each end; rank 0 is above rank 1. */
struct strip {
    int bands, height, width, steps, uneven, together; /* norn: `together` bands a task */
    double *grid[2];
};

/* What one task computes: `together` bands from `band` on. */
struct part_step {
    const struct strip *strip;
    int from, band, step;
};

static void must(norn_status status) {
    if (status == NORN_OK) return;
    fprintf(stderr, "mpi_heat: rank %d: %s: %s\n", me, norn_status_name(status), norn_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* How often a band is computed in a step: once, or in the uneven case eight times for one in eight, by a fixed rule. */
static int rounds_of(const struct strip *strip, int band, int step) {
    uint32_t mixed = (uint32_t)(step * 131 + band * 31 + me * 17 + 1) * 2654435761u;
    return strip->uneven && (mixed >> 13) % 8 == 0 ? 8 : 1;
}

static double *row_of(const struct strip *strip, int g, int band) {
    return strip->grid[g] + (size_t)(1 + band * strip->height) * (size_t)strip->width;
}

static void compute(const struct strip *strip, int from, int band, int step) {
    const long width = strip->width;
    const double *old = row_of(strip, from, band);
    double *next = row_of(strip, 1 - from, band);
    for (int round = rounds_of(strip, band, step); round > 0; round--)
        for (long i = 0; i < strip->height; i++)
            for (long j = 1; j + 1 < width; j++) {
                const double *p = old + i * width + j;
                next[i * width + j] = p[0] + 0.2 * (p[-1] + p[1] + p[-width] + p[width] - 4 * p[0]);
            }
}

static void heat(const struct strip *strip) {
    size_t points = (size_t)(strip->bands * strip->height + 2) * (size_t)strip->width;
    for (int g = 0; g < 2; g++)
        for (size_t k = 0; k < points; k++) strip->grid[g][k] = me == 0 && k < (size_t)strip->width ? 1 : 0;
}

/* ---- by hand ---- */

static double by_hand(const struct strip *strip) {
    int border = me == 0 ? strip->bands - 1 : 0;
    heat(strip);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int s = 0; s < strip->steps; s++) {
        int g = s % 2, done;
        MPI_Request requests[2];
        double *edge = row_of(strip, g, border) + (me == 0 ? (strip->height - 1) * strip->width : 0);
        double *halo = edge + (me == 0 ? strip->width : -strip->width);
        MPI_Irecv(halo, strip->width, MPI_DOUBLE, 1 - me, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(edge, strip->width, MPI_DOUBLE, 1 - me, 0, MPI_COMM_WORLD, &requests[1]);
        for (int b = 0; b < strip->bands; b++)
            if (b != border) {
                compute(strip, g, b, s);
                MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
            }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        compute(strip, g, border, s);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - start;
}

/* ---- with norn ---- */

static norn_runtime *rt;
static norn_world *world;

static int32_t step_part(norn_self *self, void *arg) {
    const struct part_step *what = arg;
    (void)self;
    for (int b = 0; b < what->strip->together; b++) compute(what->strip, what->from, what->band + b, what->step);
    return 0;
}

static norn_data registered(double *row, size_t points) {
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data data;
    desc.ptr = row;
    desc.bytes = points * sizeof *row;
    must(norn_data_register(rt, &desc, &data));
    return data;
}

/* `what`: of the tasks of this step, kept until they have run. */
static void submit_step(const struct strip *strip, norn_data part[2][MOST_BANDS + 2], int s, struct part_step *what) {
    int g = s % 2, parts = strip->bands / strip->together, border = me == 0 ? parts - 1 : 0;
    norn_slice edge = NORN_SLICE_INIT, halo = NORN_SLICE_INIT;
    norn_task task = NORN_TASK_INIT;
    edge.type = halo.type = NORN_F64;
    edge.count = halo.count = (uint64_t)strip->width;
    edge.data = part[g][border + 1];
    edge.offset = me == 0 ? (uint64_t)(strip->together * strip->height - 1) * (uint64_t)strip->width : 0;
    halo.data = part[g][me == 0 ? parts + 1 : 0];
    must(norn_recv(world, &halo, 1 - me, 0, NULL, NULL));
    must(norn_send(world, &edge, 1 - me, 0, NULL, NULL));
    task.run = step_part;
    task.access_count = 4;
    for (int p = 0; p < parts; p++) {
        what[p] = (struct part_step){strip, g, p * strip->together, s};
        norn_access accesses[] = {norn_read(part[g][p]), norn_read(part[g][p + 1]), norn_read(part[g][p + 2]),
                                  norn_write(part[1 - g][p + 1])};
        task.arg = &what[p];
        task.accesses = accesses;
        must(norn_submit(rt, &task, NULL));
    }
}

static double by_norn(const struct strip *strip) {
    norn_data part[2][MOST_BANDS + 2];
    int parts = strip->bands / strip->together;
    size_t width = (size_t)strip->width, points = width * (size_t)(strip->height * strip->together);
    struct part_step *what = malloc((size_t)(strip->steps * parts) * sizeof *what);
    if (what == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    heat(strip);
    for (int g = 0; g < 2; g++) {
        part[g][0] = registered(strip->grid[g], width);
        for (int p = 0; p < parts; p++) part[g][p + 1] = registered(row_of(strip, g, p * strip->together), points);
        part[g][parts + 1] = registered(row_of(strip, g, strip->bands), width);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int s = 0; s < strip->steps; s++) submit_step(strip, part, s, what + s * parts);
    must(norn_drain(rt, -1));
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = MPI_Wtime() - start;
    for (int g = 0; g < 2; g++)
        for (int p = 0; p < parts + 2; p++) must(norn_data_unregister(rt, part[g][p]));
    free(what);
    return seconds;
}

/* ---- */

static double sum_of(const struct strip *strip) {
    double sum = 0;
    const double *own = row_of(strip, strip->steps % 2, 0);
    for (int k = 0; k < strip->bands * strip->height * strip->width; k++) sum += own[k];
    return sum;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *what, struct strip strip) {
    static double hand[MOST], norn[MOST];
    size_t points = (size_t)(strip.bands * strip.height + 2) * (size_t)strip.width;
    for (int g = 0; g < 2; g++) {
        strip.grid[g] = malloc(points * sizeof(double));
        if (strip.grid[g] == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int k = -1; k < repetitions; k++) { /* the first is for caches and connections */
        double a = by_hand(&strip), sum = sum_of(&strip), b = by_norn(&strip);
        if (sum != sum_of(&strip)) {
            fprintf(stderr, "mpi_heat: rank %d: norn's plate differs\n", me);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        if (k >= 0) hand[k] = a, norn[k] = b;
    }
    qsort(hand, (size_t)repetitions, sizeof *hand, compare);
    qsort(norn, (size_t)repetitions, sizeof *norn, compare);
    double a = hand[repetitions / 2] / strip.steps * 1e6, b = norn[repetitions / 2] / strip.steps * 1e6;
    if (me == 0) printf("%-34s by hand %9.1f us a step  norn %9.1f us  %.2f of by hand\n", what, a, b, b / a);
    fflush(stdout);
    free(strip.grid[0]);
    free(strip.grid[1]);
}

int main(int argc, char **argv) {
    int level, size;
    norn_config config = NORN_CONFIG_INIT;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1) repetitions = atoi(argv[1]);
    if (size != 2 || repetitions < 1 || repetitions > MOST) {
        if (me == 0) fprintf(stderr, "usage: mpirun -n 2 mpi_heat [REPETITIONS, at most %d]\n", MOST);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    config.workers = 1;
    config.flags = NORN_CALLER_WORKS;
    must(norn_open(&config, &rt));
    must(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world));
    struct strip even = {.bands = 4, .height = 256, .width = 2048, .steps = 20, .together = 1};
    struct strip small = {.bands = 16, .height = 16, .width = 256, .steps = 200, .uneven = 1, .together = 1};
    struct strip tiny = {.bands = 16, .height = 8, .width = 64, .steps = 400, .uneven = 1, .together = 1};
    measure("4 bands of 256 x 2048, even", even);
    measure("16 bands of 16 x 256, uneven", small);
    measure("16 bands of 8 x 64, uneven", tiny);
    small.together = tiny.together = 4;
    measure("16 x 256, four bands a task", small);
    measure("8 x 64, four bands a task", tiny);
    must(norn_close(rt));
    MPI_Finalize();
    return 0;
}
