/*
 * norn beside MPI: what needs mpi.h.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 *     #include <mpi.h>
 *     #include <norn_mpi.h>
 *
 *     MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
 *     norn_open(NULL, &rt);
 *     norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world);
 *
 * Everything here is inline: libnorn takes communicators, types and operations
 * as the integers that Fortran knows them by, and so works with every MPI. A
 * Fortran program passes its handles as they are (mpi_f08: comm%MPI_VAL).
 *
 * To be compiled with the same MPI as the program. Handles of the standard ABI
 * become integers by another call, which this header finds out by itself.
 */
#ifndef NORN_MPI_H
#define NORN_MPI_H

#include <mpi.h>

#include "norn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The standard ABI knows no MPI_Fint. */
#if defined(MPI_ABI_VERSION) && !defined(MPICH_VERSION) && !defined(OPEN_MPI)
#define NORN_MPI_INT_(kind, handle) ((int32_t)MPI_##kind##_toint(handle))
#else
#define NORN_MPI_INT_(kind, handle) ((int32_t)MPI_##kind##_c2f(handle))
#endif

/*
 * A datatype of MPI as norn's, predefined or committed. It must stay until every
 * operation that names it has been submitted and has completed. Any thread, as
 * far as the thread level of MPI allows it; never blocks.
 *
 * The call that takes it refuses MPI_DATATYPE_NULL and a type that is not
 * committed (NORN_E_INVALID). A type that was freed is refused only where MPI
 * has not given its handle to another one.
 */
static inline norn_type norn_type_of_mpi(MPI_Datatype type) {
    return NORN_OF_MPI | (norn_type)(uint32_t)NORN_MPI_INT_(Type, type);
}

/*
 * An operation of MPI as norn's; as norn_type_of_mpi. Predefined, where MPI has
 * it for the type, or the application's own, commutative or not, which MPI calls
 * on whichever thread passes. The call that takes it refuses MPI_OP_NULL and a
 * predefined one that does not go with the type (NORN_E_INVALID); below
 * MPI_THREAD_SERIALIZED, on another thread than the one that initialised MPI,
 * the token fails instead.
 */
static inline norn_op norn_op_of_mpi(MPI_Op op) {
    return NORN_OF_MPI | (norn_op)(uint32_t)NORN_MPI_INT_(Op, op);
}

/*
 * Attaches a communicator; norn works on a duplicate of it. Collective over the
 * communicator. See norn_world_attach_f.
 */
static inline norn_status norn_world_attach(norn_runtime *rt, MPI_Comm comm, const norn_world_config *config_or_null,
                                            norn_world **world) {
    int begun = 0, ended = 0;
    /* Open MPI ends the program when a handle is converted outside; norn has an error for it instead. */
    int active = MPI_Initialized(&begun) == MPI_SUCCESS && MPI_Finalized(&ended) == MPI_SUCCESS && begun && !ended;
    return norn_world_attach_f(rt, active ? NORN_MPI_INT_(Comm, comm) : 0, config_or_null, world);
}

#undef NORN_MPI_INT_

#ifdef __cplusplus
}
#endif

#endif /* NORN_MPI_H */
