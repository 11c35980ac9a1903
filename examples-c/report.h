/* What the program prints of its answers, and whether they are good. */
#ifndef REPORT_H
#define REPORT_H

#include "options.h"
#include "run.h"

/* What one rank did, in the best run. */
struct rank_account {
    int32_t row, col; /* its place in the grid of ranks */
    uint64_t tiles;   /* of the factor, which it owns */
    uint64_t tasks, edges;
    uint64_t messages, bytes; /* sent */
    double busy;              /* seconds in kernels, of all its workers */
    double seconds;           /* until its own last task */
    double flops;
    uint64_t unequal; /* tiles of its factor that differ from those of the sequence */
};

struct answers {
    double *graph, *sequence;
    struct run graph_run, sequence_run;
    int workers;
    int equal; /* in every bit */

    /* --device: the one that factorised, or why none did. */
    const struct tile_device *device;
    const char *no_device;

    /* Where ranks of MPI shared the work, else NULL and 0. */
    struct rank_account *ranks;
    int rank_count, grid_down, grid_across;
};

/* Prints the report, writes the answer where it is asked for, and with --check judges it. Returns 0, or -1 after a
 * complaint. */
int report(const struct problem *problem, struct answers *answers, const struct options *options);

#endif
