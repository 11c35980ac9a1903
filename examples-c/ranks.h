/* The processes that share the work, outside of any world of norn's: the application's own use of MPI. */
#ifndef RANKS_H
#define RANKS_H

#include <norn.h>

struct ranks {
    int rank, size;
    int sharers; /* ranks of this machine that may run on just the cores that this one may run on; at least 1 */
};

/* MPI_Init_thread, with the highest level there is. The errors of all ranks but 0 are kept for ranks_agree from now on. */
void ranks_start(struct ranks *ranks, int *argc, char ***argv);

/* MPI_Finalize. Afterwards this process works alone. */
void ranks_end(void);

/* Every rank says how it went, 0 or -1. Returns 0 if it went well everywhere; else -1, and one rank's complaint has been
 * written by rank 0. Collective, blocks; not while a world is attached: MPI may be one thread's at a time. */
int ranks_agree(const struct ranks *ranks, int result);

/* Gives every rank what rank 0 has. As ranks_agree. */
void ranks_share(void *bytes, int count);

/* Attaches all ranks. A failure may be this rank's alone, where the others wait for it: it ends them all. */
norn_world *ranks_attach(const struct ranks *ranks, norn_runtime *rt);

#endif
