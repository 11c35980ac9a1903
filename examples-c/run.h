/* One run of the solver: what it took, and how its end is waited for and explained. */
#ifndef RUN_H
#define RUN_H

#include "problem.h"
#include "tile_solver.h"

struct run {
    double seconds;
    double flops;
    uint64_t tasks, edges;
};

double now(void); /* seconds */
norn_runtime_stats read_stats(norn_runtime *rt);

/* Waits for `done`; on a terminal it says now and then how far this process is. `before`: from before the first
 * submission. */
norn_status await_with_progress(norn_runtime *rt, norn_token done, const norn_runtime_stats *before);

/* Complains of the failure that `done` has ended with, as the task that failed first told it. Returns -1. */
int explain(norn_runtime *rt, norn_token done, norn_status status, const struct problem *problem);

/* Loads the tiles and runs the kernels in a plain loop, without norn; x gets the answer. Returns 0, or -1 after a
 * complaint. */
int solve_in_sequence(struct tile_system *system, const struct problem *problem, double *x, struct run *best);

/* Returns 0, or -1 after a complaint. */
int refuse_too_many_tasks(const struct problem *problem, int tile);

void keep_best(struct run *best, const struct run *run);

#endif
