#include "report.h"

#include "complain.h"
#include "matrix_market.h"
#include "tile_device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const double AGREEMENT = 1e-9;       /* with DGELS, relative */
static const double BACKWARD_ERROR = 1e-12; /* of a positive definite system */

static double gflops(const struct run *run) {
    return run->flops / run->seconds * 1e-9;
}

/* Who did what. */
static void print_ranks(const struct answers *answers) {
    printf("ranks       %d, in a grid of %d x %d\n", answers->rank_count, answers->grid_down, answers->grid_across);
    printf("%10s  %9s  %6s  %8s  %8s  %8s  %10s  %8s  %8s\n", "rank", "place", "tiles", "tasks", "edges", "messages",
           "MiB sent", "busy s", "done s");
    for (int i = 0; i < answers->rank_count; i++) {
        const struct rank_account *rank = &answers->ranks[i];
        char place[32];
        snprintf(place, sizeof place, "(%d, %d)", (int)rank->row, (int)rank->col);
        printf("%10d  %9s  %6llu  %8llu  %8llu  %8llu  %10.3f  %8.4f  %8.4f\n", i, place, (unsigned long long)rank->tiles,
               (unsigned long long)rank->tasks, (unsigned long long)rank->edges, (unsigned long long)rank->messages,
               (double)rank->bytes / (1 << 20), rank->busy, rank->seconds);
    }
}

/* The factor, tile by tile, each judged for the rank that owns it. */
static void print_factor(const struct answers *answers) {
    uint64_t tiles = 0, unequal = 0;
    for (int i = 0; i < answers->rank_count; i++) {
        const struct rank_account *rank = &answers->ranks[i];
        tiles += rank->tiles;
        unequal += rank->unequal;
        if (rank->unequal > 0)
            printf("factor      rank %d: %llu of %llu tiles differ\n", i, (unsigned long long)rank->unequal,
                   (unsigned long long)rank->tiles);
    }
    if (unequal == 0)
        printf("factor      %llu tiles of %d ranks equal in every bit\n", (unsigned long long)tiles, answers->rank_count);
}

static void print_device(const struct answers *answers) {
    const struct tile_device *device = answers->device;
    if (device != NULL && answers->ranks != NULL)
        printf("device      %s, of rank 0: the factor, and its messages, in the devices' memory\n", device->name);
    else if (device != NULL)
        printf("device      %s: factor in %.4f s, %.2f GFLOP/s, copies there and back in %.4f s\n", device->name,
               device->factor_seconds, device->factor_flops / device->factor_seconds * 1e-9, device->copy_seconds);
    else if (answers->no_device != NULL)
        printf("device      none, so all tiles are the host's: %s\n", answers->no_device);
}

static void print_report(const struct problem *problem, const struct answers *answers, const struct quality *quality,
                         int tile) {
    const struct run *graph = &answers->graph_run, *sequence = &answers->sequence_run;
    int least_squares = problem_is_least_squares(problem);
    printf("matrix      %s, %d x %d, %s\n", problem->name, problem->rows, problem->cols,
           least_squares ? "least squares by normal equations" : "symmetric positive definite");
    if (least_squares)
        printf("residual    ||b - A x|| = %.6e, ||A^T (b - A x)|| = %.3e\n", quality->residual, quality->gradient);
    else
        printf("residual    ||b - A x|| = %.6e, backward error %.3e\n", quality->residual, quality->backward_error);
    if (quality->from_dgels >= 0.0)
        printf("dgels       relative difference %.3e\n", quality->from_dgels);
    if (quality->from_known >= 0.0)
        printf("known       relative difference %.3e\n", quality->from_known);
    if (answers->ranks != NULL)
        print_ranks(answers);
    printf("graph       %d workers, tiles of %d, %llu tasks, %llu edges, %.4f s, %.2f GFLOP/s\n", answers->workers, tile,
           (unsigned long long)graph->tasks, (unsigned long long)graph->edges, graph->seconds, gflops(graph));
    print_device(answers);
    if (sequence->seconds > 0.0) {
        printf("sequence    the same kernels in a loop, %.4f s, %.2f GFLOP/s\n", sequence->seconds, gflops(sequence));
        printf("ratio       %.2f\n", sequence->seconds / graph->seconds);
    }
    if (answers->ranks != NULL && sequence->seconds > 0.0)
        print_factor(answers);
    if (sequence->seconds > 0.0)
        printf("answers     %s\n", answers->equal ? "equal in every bit" : "differ");
}

/* --check. The comparisons are written so that a NaN does not pass. */
static int check(const struct problem *problem, const struct answers *answers, const struct quality *quality) {
    /* A device rounds in another way. */
    if (!answers->equal && answers->device == NULL && answers->sequence_run.seconds > 0.0)
        return complain("check failed: the graph and the sequence give different answers");
    for (int i = 0; i < answers->rank_count; i++)
        if (answers->ranks[i].unequal > 0 && answers->device == NULL)
            return complain("check failed: the factor of rank %d is not that of the sequence", i);
    if (problem_is_least_squares(problem) && !(quality->from_dgels <= AGREEMENT))
        return complain("check failed: the answer differs from that of DGELS by more than %.0e", AGREEMENT);
    if (!problem_is_least_squares(problem) && !(quality->backward_error <= BACKWARD_ERROR))
        return complain("check failed: the backward error is more than %.0e", BACKWARD_ERROR);
    return 0;
}

int report(const struct problem *problem, struct answers *answers, const struct options *options) {
    struct quality quality;
    char why[WHY_BYTES];
    if (problem_assess(problem, answers->graph, &quality, why) != 0)
        return complain("%s", why);
    answers->equal = memcmp(answers->graph, answers->sequence, (size_t)problem->cols * sizeof(double)) == 0;

    if (options->output != NULL && mm_write_vector(options->output, answers->graph, problem->cols, why, sizeof why) != 0)
        return complain("%s", why);
    print_report(problem, answers, &quality, options->tile);
    if (fflush(stdout) != 0 || ferror(stdout))
        return complain("cannot write the report: %s", strerror(errno));
    return options->check ? check(problem, answers, &quality) : 0;
}
