/*
 * The linear system by tiles: as a graph of norn tasks, or the same kernels in the same order in a plain loop.
 *
 * Square, A symmetric positive definite:  A = L L^T, x = L^-T L^-1 b.
 * More rows than columns:                 N = A^T A = L L^T, x = L^-T L^-1 A^T b, and then one step of correction with
 *                                         the residual of A itself, because N has the square of A's condition number.
 */
#ifndef TILE_SOLVER_H
#define TILE_SOLVER_H

#include "tile_issue.h"

struct tile_system {
    int least_squares;
    struct tiles factor;   /* N or A, then L */
    struct tiles solution; /* A^T b or b, then x */

    /* Least squares only. */
    struct tiles matrix;     /* A */
    struct tiles rhs;        /* b, then the residual b - A x */
    struct tiles correction; /* A^T (b - A x), then what to add to x */
};

/* Returns 0, or -1 without memory; tile_system_free is allowed in both cases. */
int tile_system_create(struct tile_system *system, int rows, int cols, int tile);
void tile_system_free(struct tile_system *system);

/* Puts the numbers of a dense matrix (by columns) and right-hand side in, in place of whatever is there. */
void tile_system_load(struct tile_system *system, const double *matrix, const double *rhs);

norn_status tile_system_register(struct tile_system *system, norn_runtime *rt);
norn_status tile_system_unregister(struct tile_system *system, norn_runtime *rt);

/* Tasks that tile_system_solve makes for the factorisation and the normal equations, nearly all there are. */
double tile_system_task_estimate(int rows, int cols, int tile);

/* Issues all kernels in the order of the sequential algorithm. With a runtime it returns when the tasks are submitted,
 * long before they have run, and an error is norn_submit's; without one it returns when all is done, and an error
 * is a kernel's own code. */
int32_t tile_system_solve(struct tile_system *system, struct execution *execution);

#endif
