/* What the programs with edges between real ranks share: a call that must succeed, a truth, and the end of all ranks where not. */
#ifndef NORN_TESTS_MPI_CHECK_H
#define NORN_TESTS_MPI_CHECK_H

#include <mpi.h>
#include <norn_mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

static void ok_at(norn_status status, int line) {
    if (status == NORN_OK) return;
    fprintf(stderr, "rank %d, line %d: %s: %s\n", rank, line, norn_status_name(status), norn_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}
#define OK(call) ok_at((call), __LINE__)
#define CHECK(truth)                                                                                                   \
    do {                                                                                                               \
        if (!(truth)) {                                                                                                \
            fprintf(stderr, "rank %d, line %d: not so: %s (%s)\n", rank, __LINE__, #truth, norn_last_error());         \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                              \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
