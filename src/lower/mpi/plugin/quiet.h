/*
 * Keeps MPI's errors from ending the program.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#ifndef NORN_PLUGIN_QUIET_H
#define NORN_PLUGIN_QUIET_H

/*
 * An error that MPI ties to no communicator goes to the handler of
 * MPI_COMM_SELF or, in older ones, of MPI_COMM_WORLD, which by default ends the
 * program. MPICH does so even with the error of one request. So such calls
 * are made between these two. A handler that another thread sets in
 * between is lost; it would have to do so within the microsecond.
 */
struct quiet {
    MPI_Comm comm[3];
    MPI_Errhandler old[3];
    int count;
};

static void quiet_one(struct quiet *quiet, MPI_Comm comm) {
    MPI_Errhandler old;
    if (MPI_Comm_get_errhandler(comm, &old) != MPI_SUCCESS) return;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    quiet->comm[quiet->count] = comm;
    quiet->old[quiet->count++] = old;
}

static void quiet_begin(struct quiet *quiet) {
    quiet->count = 0;
    quiet_one(quiet, MPI_COMM_SELF);
    quiet_one(quiet, MPI_COMM_WORLD);
}

static int quiet_end(struct quiet *quiet, int code) {
    while (quiet->count-- > 0) {
        MPI_Comm_set_errhandler(quiet->comm[quiet->count], quiet->old[quiet->count]);
        MPI_Errhandler_free(&quiet->old[quiet->count]);
    }
    return code;
}

#endif /* NORN_PLUGIN_QUIET_H */
