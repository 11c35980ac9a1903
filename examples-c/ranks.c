#define _GNU_SOURCE /* sched_getaffinity */

#include "ranks.h"

#include "complain.h"

#include <mpi.h>
#include <norn_mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ranks of this machine with the mask of this one. A mask that cannot be read is taken for the whole machine. */
static int count_sharers(void) {
    MPI_Comm machine;
    int size, same = 0;
    cpu_set_t mine;
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &size);
    cpu_set_t *all = malloc((size_t)size * sizeof *all);
    if (all == NULL)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    MPI_Allgather(&mine, (int)sizeof mine, MPI_BYTE, all, (int)sizeof mine, MPI_BYTE, machine);
    for (int i = 0; i < size; i++)
        same += CPU_EQUAL(&mine, &all[i]);
    free(all);
    MPI_Comm_free(&machine);
    return same;
}

void ranks_start(struct ranks *ranks, int *argc, char ***argv) {
    int provided; /* whichever it is, norn keeps to it */
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks->size);
    ranks->sharers = count_sharers();
    if (ranks->rank != 0)
        complain_later();
}

void ranks_end(void) {
    MPI_Finalize();
}

int ranks_agree(const struct ranks *ranks, int result) {
    char text[COMPLAINT_BYTES];
    int mine = result == 0 ? ranks->size : ranks->rank, first;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == ranks->size)
        return 0;
    if (first == 0)
        return -1; /* has been written */
    snprintf(text, sizeof text, "%s", complaint());
    MPI_Bcast(text, (int)sizeof text, MPI_CHAR, first, MPI_COMM_WORLD);
    return complain("rank %d: %s", first, text);
}

void ranks_share(void *bytes, int count) {
    MPI_Bcast(bytes, count, MPI_BYTE, 0, MPI_COMM_WORLD);
}

norn_world *ranks_attach(const struct ranks *ranks, norn_runtime *rt) {
    norn_world *world;
    if (norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world) == NORN_OK)
        return world;
    fprintf(stderr, "cholesky: rank %d: %s\n", ranks->rank, norn_last_error());
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    return NULL;
}
