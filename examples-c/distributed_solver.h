/*
 * The linear system of tile_solver.h over several ranks. The steps, and the order of the updates of each tile, are the
 * same, so the answer is too, in every bit.
 *
 * A tile of a matrix stays with its owner (distribution.h), which runs all kernels that update it, or that multiply it
 * with a part of a vector. What others read of it is sent to them as soon as it is final, into one of AHEAD rooms for copies
 * that a step after the other has in turn: when a step's kernels have read their copies, the receives of a later step
 * are posted, which norn finds out from what reads and writes each room.
 *
 * The parts of vectors are small and travel: a part is updated where the matrix tile is, in the order of the sequential
 * algorithm, and is sent on to where the next one is. Between two steps part i is at home, with the owner of tile (i, i);
 * part i of the right-hand side of least squares is with that of tile (i, 0).
 *
 * Each rank goes through its own tiles and its own messages only, in the order of the sequential algorithm.
 */
#ifndef DISTRIBUTED_SOLVER_H
#define DISTRIBUTED_SOLVER_H

#include "tile_messages.h"

enum { AHEAD = 4 };

struct distributed_system {
    struct distribution share;
    int least_squares;
    struct tiles factor, solution;
    struct tiles matrix, rhs, correction; /* least squares only */
    struct tiles copies;                  /* column s: room s for the tiles of a column, or row, of others */
};

/* What one rank's run of the solver goes with. */
struct part {
    struct execution execution;
    struct traffic traffic;
};

/* Returns 0, or -1 without memory; distributed_system_free is allowed in both cases. */
int distributed_system_create(struct distributed_system *system, int rows, int cols, int tile,
                              const struct distribution *share);
void distributed_system_free(struct distributed_system *system);

/* Makes all parts data of a runtime, after setting to zero what is summed up. As tile_system_register. */
norn_status distributed_system_register(struct distributed_system *system, norn_runtime *rt);
norn_status distributed_system_unregister(struct distributed_system *system, norn_runtime *rt);

/* Declares the messages that bring the numbers in: rank 0 sends every tile to its owner, itself too, straight out of the
 * dense matrix (by columns) and right-hand side, which must stay until the group is done; the others give NULL. */
int32_t distributed_system_load(struct distributed_system *system, struct part *part, const double *matrix,
                                const double *rhs);

/* Declares this rank's tasks and messages of the whole solution. Returns norn's status. */
int32_t distributed_system_solve(struct distributed_system *system, struct part *part);

/* Declares the messages that bring the factor and the answer to rank 0, into tiles with memory for all of it, and a vector,
 * which must stay until the group is done; the others give NULL. */
int32_t distributed_system_collect(struct distributed_system *system, struct part *part, const struct tiles *factor,
                                   double *x);

/* Tiles of the factor that this rank owns. */
uint64_t distributed_system_tile_count(const struct distributed_system *system);

#endif
