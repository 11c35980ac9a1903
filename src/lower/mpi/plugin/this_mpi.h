/*
 * Which MPI this is: its handles as integers, and what only newer ones have.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#ifndef NORN_PLUGIN_THIS_MPI_H
#define NORN_PLUGIN_THIS_MPI_H

/* Handles as integers. The standard ABI has no MPI_Fint; its integers are the same ones. */
#if defined(MPI_ABI_VERSION) && !defined(MPICH_VERSION) && !defined(OPEN_MPI)
#define FAMILY "abi"
#define BUILT_FOR "the MPI standard ABI"
#define COMM_OF(integer) MPI_Comm_fromint(integer)
#define COMM_INT(comm) MPI_Comm_toint(comm)
#define TYPE_OF(integer) MPI_Type_fromint(integer)
#define TYPE_INT(type) MPI_Type_toint(type)
#define OP_OF(integer) MPI_Op_fromint(integer)
#define OP_INT(op) MPI_Op_toint(op)
#else
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#if defined(OPEN_MPI)
#define FAMILY "openmpi"
#define BUILT_FOR "Open MPI " TEXT(OMPI_MAJOR_VERSION) "." TEXT(OMPI_MINOR_VERSION) "." TEXT(OMPI_RELEASE_VERSION)
#elif defined(MPICH_VERSION) || defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION) || defined(CRAY_MPICH_VERSION)
#define FAMILY "mpich"
#ifdef MPICH_VERSION
#define BUILT_FOR "MPICH " MPICH_VERSION
#else
#define BUILT_FOR "an MPI of MPICH's ABI"
#endif
#else
#define FAMILY "other"
#define BUILT_FOR "an MPI " TEXT(MPI_VERSION) "." TEXT(MPI_SUBVERSION)
#endif
#define COMM_OF(integer) MPI_Comm_f2c((MPI_Fint)(integer))
#define COMM_INT(comm) ((int32_t)MPI_Comm_c2f(comm))
#define TYPE_OF(integer) MPI_Type_f2c((MPI_Fint)(integer))
#define TYPE_INT(type) ((int32_t)MPI_Type_c2f(type))
#define OP_OF(integer) MPI_Op_f2c((MPI_Fint)(integer))
#define OP_INT(op) ((int32_t)MPI_Op_c2f(op))
#endif

/* Arrays of displacements and large counts are passed on as they are. */
_Static_assert(sizeof(MPI_Count) == sizeof(int64_t), "MPI_Count has 64 bits");
_Static_assert(sizeof(MPI_Aint) == sizeof(int64_t), "MPI_Aint has 64 bits");

#define EXPECT(call)                      \
    do {                                  \
        int code_ = (call);               \
        if (code_ != MPI_SUCCESS) return code_; \
    } while (0)

/* Filled in by norn_mpi_plugin, before any other call. */
typedef MPI_Count big;
static struct {
    int is_mpich; /* or built on it */
    int (*Get_count)(const MPI_Status *, MPI_Datatype, big *);
    int (*Comm_idup_with_info)(MPI_Comm, MPI_Info, MPI_Comm *, MPI_Request *);
    int (*Isend)(const void *, big, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*Irecv)(void *, big, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*Ibcast)(void *, big, MPI_Datatype, int, MPI_Comm, MPI_Request *);
    int (*Ireduce)(const void *, void *, big, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Request *);
    int (*Iallreduce)(const void *, void *, big, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *);
    int (*Igather)(const void *, big, MPI_Datatype, void *, big, MPI_Datatype, int, MPI_Comm, MPI_Request *);
    int (*Iscatter)(const void *, big, MPI_Datatype, void *, big, MPI_Datatype, int, MPI_Comm, MPI_Request *);
    int (*Iallgather)(const void *, big, MPI_Datatype, void *, big, MPI_Datatype, MPI_Comm, MPI_Request *);
    int (*Ialltoall)(const void *, big, MPI_Datatype, void *, big, MPI_Datatype, MPI_Comm, MPI_Request *);
    int (*Igatherv)(const void *, big, MPI_Datatype, void *, const big *, const MPI_Aint *, MPI_Datatype, int, MPI_Comm,
                    MPI_Request *);
    int (*Iscatterv)(const void *, const big *, const MPI_Aint *, MPI_Datatype, void *, big, MPI_Datatype, int,
                     MPI_Comm, MPI_Request *);
    int (*Iallgatherv)(const void *, big, MPI_Datatype, void *, const big *, const MPI_Aint *, MPI_Datatype, MPI_Comm,
                       MPI_Request *);
    int (*Ialltoallv)(const void *, const big *, const MPI_Aint *, MPI_Datatype, void *, const big *, const MPI_Aint *,
                      MPI_Datatype, MPI_Comm, MPI_Request *);
} newer;

/* All large counts come with the same version of MPI, so one answers for all. */
static int has_large_counts(void) { return newer.Ialltoallv != NULL; }

static void look_at_this_mpi(void) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    /* Through memory, since ISO C has no conversion from an object's address to a function's. */
#define LOOK(member, name)                             \
    do {                                               \
        void *found_ = dlsym(RTLD_DEFAULT, name);      \
        memcpy(&newer.member, &found_, sizeof found_); \
    } while (0)
    LOOK(Comm_idup_with_info, "MPI_Comm_idup_with_info");
    LOOK(Get_count, "MPI_Get_count_c");
    LOOK(Isend, "MPI_Isend_c");
    LOOK(Irecv, "MPI_Irecv_c");
    LOOK(Ibcast, "MPI_Ibcast_c");
    LOOK(Ireduce, "MPI_Ireduce_c");
    LOOK(Iallreduce, "MPI_Iallreduce_c");
    LOOK(Igather, "MPI_Igather_c");
    LOOK(Iscatter, "MPI_Iscatter_c");
    LOOK(Iallgather, "MPI_Iallgather_c");
    LOOK(Ialltoall, "MPI_Ialltoall_c");
    LOOK(Igatherv, "MPI_Igatherv_c");
    LOOK(Iscatterv, "MPI_Iscatterv_c");
    LOOK(Iallgatherv, "MPI_Iallgatherv_c");
    LOOK(Ialltoallv, "MPI_Ialltoallv_c");
#undef LOOK
    if (newer.Get_count == NULL) newer.Get_count = MPI_Get_elements_x;
    if (strcmp(FAMILY, "mpich") == 0) {
        newer.is_mpich = 1;
    } else if (MPI_Get_library_version(text, &length) == MPI_SUCCESS) {
        newer.is_mpich = strstr(text, "MPICH") != NULL;
    }
}

#endif /* NORN_PLUGIN_THIS_MPI_H */
