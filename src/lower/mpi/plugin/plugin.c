/*
 * The plug-in: answers norn_mpi_plugin.h out of the MPI it is compiled against.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 *     mpicc -c -O2 -fPIC -I <norn's include> plugin.c
 *     cc -shared plugin.o -o libnorn_mpi_FAMILY.so
 *
 * One file for every MPI since MPI-3.1. It is linked without MPI: its calls are
 * bound to the MPI that the process has already loaded, and to a profiler in
 * front of it. What only newer MPIs have is looked up at run time, so that a
 * plug-in compiled against an old release uses the large counts of a new one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "norn.h"
#include "norn_mpi_plugin.h"

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

/* --- what only newer MPIs have ----------------------------------------------------------------------------------- */

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

/* --- error handlers ---------------------------------------------------------------------------------------------- */

/*
 * An error that MPI ties to no communicator goes to the handler of
 * MPI_COMM_SELF or, in older ones, of MPI_COMM_WORLD, which by default ends the
 * program. MPICH does so even with the error of one request. So such calls are made between these two. A handler that another thread sets in
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

/* --- the library ------------------------------------------------------------------------------------------------- */

static int copy_text(const char *from, char *to, size_t size) {
    if (size > 0) {
        size_t length = strlen(from);
        if (length >= size) length = size - 1;
        memcpy(to, from, length);
        to[length] = 0;
    }
    return NORN_MPI_OK;
}

static int32_t state(int32_t *out) {
    int yes = 0;
    EXPECT(MPI_Finalized(&yes));
    if (yes) {
        *out = NORN_MPI_FINALIZED;
        return NORN_MPI_OK;
    }
    EXPECT(MPI_Initialized(&yes));
    *out = yes ? NORN_MPI_ACTIVE : NORN_MPI_BEFORE_INIT;
    return NORN_MPI_OK;
}

static int32_t library_text(char *text, size_t size) {
    char all[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    EXPECT(MPI_Get_library_version(all, &length));
    all[strcspn(all, "\n")] = 0;
    return copy_text(all, text, size);
}

static int32_t error_text(int32_t error, char *text, size_t size) {
    static const char *const own[] = {"success", "out of memory", "this MPI has no such call or type",
                                      "no such communicator, type, operation, slot or kind",
                                      "count too large for this MPI", "requests are pending"};
    char all[MPI_MAX_ERROR_STRING];
    int32_t now;
    int length;
    if (error <= 0 && error > -(int)(sizeof own / sizeof *own)) return copy_text(own[-error], text, size);
    if (state(&now) == NORN_MPI_OK && now == NORN_MPI_ACTIVE) {
        struct quiet quiet;
        quiet_begin(&quiet);
        if (quiet_end(&quiet, MPI_Error_string(error, all, &length)) == MPI_SUCCESS) return copy_text(all, text, size);
    }
    snprintf(all, sizeof all, "MPI error %d", (int)error);
    return copy_text(all, text, size);
}

static int32_t thread(int32_t comm, int32_t *level, int32_t *is_main) {
    int provided, mine;
    (void)comm;
    EXPECT(MPI_Query_thread(&provided));
    EXPECT(MPI_Is_thread_main(&mine));
    *level = provided >= MPI_THREAD_MULTIPLE     ? NORN_MPI_THREAD_MULTIPLE
             : provided >= MPI_THREAD_SERIALIZED ? NORN_MPI_THREAD_SERIALIZED
             : provided >= MPI_THREAD_FUNNELED   ? NORN_MPI_THREAD_FUNNELED
                                                 : NORN_MPI_THREAD_SINGLE;
    *is_main = mine != 0;
    return NORN_MPI_OK;
}

static int32_t world(int32_t comm, int32_t *rank, int32_t *size) {
    int r, s;
    (void)comm;
    EXPECT(MPI_Comm_rank(MPI_COMM_WORLD, &r));
    EXPECT(MPI_Comm_size(MPI_COMM_WORLD, &s));
    *rank = r;
    *size = s;
    return NORN_MPI_OK;
}

/* Memory kinds of MPI 4.1, as an MPI lists them on MPI_COMM_WORLD; 1 where CUDA's are among them. */
static int lists_cuda_memory(int *listed) {
    char kinds[MPI_MAX_INFO_VAL];
    MPI_Info info;
    int length = (int)sizeof kinds, set = 0;
    EXPECT(MPI_Comm_get_info(MPI_COMM_WORLD, &info));
#if MPI_VERSION >= 4
    MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &length, kinds, &set);
#else
    MPI_Info_get(info, "mpi_memory_alloc_kinds", length - 1, kinds, &set);
#endif
    MPI_Info_free(&info);
    *listed = set;
    return set && strstr(kinds, "cuda") != NULL;
}

static int32_t device_aware(int32_t *answer, char *reason, size_t size) {
    int (*gpu)(int, int *);
    int (*cuda)(void);
    void *gpu_found = dlsym(RTLD_DEFAULT, "MPIX_GPU_query_support");
    void *cuda_found = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
    const char *cray = getenv("MPICH_GPU_SUPPORT_ENABLED");
    struct quiet quiet;
    char text[160];
    int yes = 0, listed = 0;
    memcpy(&gpu, &gpu_found, sizeof gpu);
    memcpy(&cuda, &cuda_found, sizeof cuda);
    quiet_begin(&quiet);
    /* Its kind of device for CUDA is 0. */
    if (gpu != NULL && gpu(0, &yes) == MPI_SUCCESS) {
        snprintf(text, sizeof text, "MPIX_GPU_query_support says %s", yes ? "yes" : "no");
    } else if (cuda != NULL) {
        yes = cuda() == 1;
        snprintf(text, sizeof text, "MPIX_Query_cuda_support says %s", yes ? "yes" : "no");
    } else if ((yes = lists_cuda_memory(&listed) == 1) || listed) {
        snprintf(text, sizeof text, "mpi_memory_alloc_kinds %s cuda", yes ? "lists" : "does not list");
    } else if (cray != NULL) {
        yes = strcmp(cray, "1") == 0;
        snprintf(text, sizeof text, "MPICH_GPU_SUPPORT_ENABLED is %.32s", cray);
    } else {
        yes = -1;
        snprintf(text, sizeof text, "this MPI has no query for it");
    }
    quiet_end(&quiet, 0);
    *answer = yes;
    return copy_text(text, reason, size);
}

/* Open MPI turns integers that are no handle into NULL; zero is none in any MPI. */
static int no_comm(MPI_Comm comm) { return !comm || comm == MPI_COMM_NULL; }

/*
 * MPICH ends the program at an integer that cannot be a handle, but its
 * integers tell what they are: bits 30 and 31 how it is stored (0: not), bits
 * 26 to 29 of which kind of object (1: communicator, 3: type). The standard ABI
 * has its predefined handles below 4096, and MPICH its own integers above.
 */
static int cannot_be(int32_t integer, uint32_t mpich_kind) {
#ifdef OPEN_MPI
    (void)integer, (void)mpich_kind;
    return 0;
#else
    uint32_t bits = (uint32_t)integer, stored = bits >> 30;
    if (!newer.is_mpich) return 0;
    if (strcmp(FAMILY, "abi") == 0 && bits < 4096) return bits >> 3 != (mpich_kind == 1 ? 0x100u >> 3 : bits >> 3);
    if (stored == 0 || (bits >> 26 & 15) != mpich_kind) return 1;
    return mpich_kind == 1 && stored == 1 && (bits & 0x3ffffff) > 1; /* beyond MPI_COMM_WORLD and MPI_COMM_SELF */
#endif
}

static void abort_world(int32_t comm, int32_t code) {
    MPI_Comm all = COMM_OF(comm);
    MPI_Abort(no_comm(all) ? MPI_COMM_WORLD : all, code);
}

/* --- communicators ----------------------------------------------------------------------------------------------- */

static int read_comm(MPI_Comm comm, norn_mpi_comm_info *info) {
    int *tag_ub, set = 0, inter;
    EXPECT(MPI_Comm_test_inter(comm, &inter));
    EXPECT(MPI_Comm_rank(comm, &info->rank));
    EXPECT(MPI_Comm_size(comm, &info->size));
    EXPECT(MPI_Comm_get_attr(comm, MPI_TAG_UB, &tag_ub, &set));
    info->tag_ub = set ? *tag_ub : 32767;
    info->inter = inter != 0;
    return MPI_SUCCESS;
}

static int32_t comm_info(int32_t comm, norn_mpi_comm_info *info) {
    MPI_Comm handle;
    norn_mpi_comm_info found;
    struct quiet quiet;
    if (cannot_be(comm, 1) || no_comm(handle = COMM_OF(comm))) return NORN_MPI_INVALID;
    quiet_begin(&quiet);
    if (quiet_end(&quiet, read_comm(handle, &found)) != MPI_SUCCESS) return NORN_MPI_INVALID;
    *info = found;
    return NORN_MPI_OK;
}

static int32_t comm_free(int32_t comm) {
    MPI_Comm handle;
    struct quiet quiet;
    if (cannot_be(comm, 1) || no_comm(handle = COMM_OF(comm))) return NORN_MPI_INVALID;
    quiet_begin(&quiet);
    return quiet_end(&quiet, MPI_Comm_free(&handle));
}

/* --- types and operations ---------------------------------------------------------------------------------------- */

static int no_type(MPI_Datatype type) { return !type || type == MPI_DATATYPE_NULL; }

static int32_t type_builtin(int32_t number, int32_t *handle) {
    MPI_Datatype type;
    switch (number) {
    case NORN_BYTE: type = MPI_BYTE; break;
    case NORN_I8: type = MPI_INT8_T; break;
    case NORN_U8: type = MPI_UINT8_T; break;
    case NORN_I16: type = MPI_INT16_T; break;
    case NORN_U16: type = MPI_UINT16_T; break;
    case NORN_I32: type = MPI_INT32_T; break;
    case NORN_U32: type = MPI_UINT32_T; break;
    case NORN_I64: type = MPI_INT64_T; break;
    case NORN_U64: type = MPI_UINT64_T; break;
    case NORN_F32: type = MPI_FLOAT; break;
    case NORN_F64: type = MPI_DOUBLE; break;
    case NORN_C64: type = MPI_C_FLOAT_COMPLEX; break;
    case NORN_C128: type = MPI_C_DOUBLE_COMPLEX; break;
    default: return NORN_MPI_INVALID;
    }
    if (no_type(type)) return NORN_MPI_UNSUPPORTED;
    *handle = TYPE_INT(type);
    return NORN_MPI_OK;
}

static int32_t op_builtin(int32_t number, int32_t *handle) {
    MPI_Op op;
    switch (number) {
    case NORN_SUM: op = MPI_SUM; break;
    case NORN_PROD: op = MPI_PROD; break;
    case NORN_MIN: op = MPI_MIN; break;
    case NORN_MAX: op = MPI_MAX; break;
    case NORN_LAND: op = MPI_LAND; break;
    case NORN_LOR: op = MPI_LOR; break;
    case NORN_LXOR: op = MPI_LXOR; break;
    case NORN_BAND: op = MPI_BAND; break;
    case NORN_BOR: op = MPI_BOR; break;
    case NORN_BXOR: op = MPI_BXOR; break;
    default: return NORN_MPI_INVALID;
    }
    *handle = OP_INT(op);
    return NORN_MPI_OK;
}

static int32_t type_info(int32_t comm, int32_t handle, norn_mpi_type_info *info) {
    MPI_Comm all = COMM_OF(comm);
    MPI_Datatype type;
    MPI_Count size, lb, extent, true_lb, true_extent;
    int none;
    if (cannot_be(handle, 3) || no_comm(all) || no_type(type = TYPE_OF(handle))) return NORN_MPI_INVALID;
    /* Of the calls about a type this one has a communicator, whose handler then gets the error of a bad handle. */
    if (MPI_Pack_size(0, type, all, &none) != MPI_SUCCESS) return NORN_MPI_INVALID;
    EXPECT(MPI_Type_size_x(type, &size));
    EXPECT(MPI_Type_get_extent_x(type, &lb, &extent));
    EXPECT(MPI_Type_get_true_extent_x(type, &true_lb, &true_extent));
    info->size = size;
    info->extent = extent;
    info->true_lb = true_lb;
    info->true_extent = true_extent;
    return NORN_MPI_OK;
}

/*
 * Makes the type of `count` times `base`, `stride` bytes apart, and not committed.
 * A count that an int cannot hold becomes blocks of 2^30 and a rest; the result
 * is given the extent that the simple type would have, which MPI might round.
 */
static int repeat_type(MPI_Datatype base, int64_t count, MPI_Aint stride, MPI_Datatype *made) {
    const int64_t block = INT64_C(1) << 30;
    MPI_Datatype part[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL}, inner, whole;
    MPI_Aint lb, extent, displacement[2] = {0, 0}, whole_extent, block_bytes;
    int lengths[2] = {1, 1}, parts = count % block == 0 ? 1 : 2, code;
    EXPECT(MPI_Type_get_extent(base, &lb, &extent));
    if (count <= INT_MAX) {
        if (stride == extent) return MPI_Type_contiguous((int)count, base, made);
        return MPI_Type_create_hvector((int)count, 1, stride, base, made);
    }
    if (count / block > INT_MAX || __builtin_mul_overflow(count, (int64_t)stride, &whole_extent)) {
        return NORN_MPI_TOO_LARGE;
    }
    block_bytes = (MPI_Aint)block * stride;
    EXPECT(MPI_Type_create_hvector((int)block, 1, stride, base, &inner));
    code = MPI_Type_create_hvector((int)(count / block), 1, block_bytes, inner, &part[0]);
    MPI_Type_free(&inner);
    if (code == MPI_SUCCESS && parts == 2) {
        displacement[1] = (MPI_Aint)(count / block) * block_bytes;
        code = MPI_Type_create_hvector((int)(count % block), 1, stride, base, &part[1]);
    }
    if (code == MPI_SUCCESS) code = MPI_Type_create_struct(parts, lengths, displacement, part, &whole);
    if (part[0] != MPI_DATATYPE_NULL) MPI_Type_free(&part[0]);
    if (part[1] != MPI_DATATYPE_NULL) MPI_Type_free(&part[1]);
    if (code != MPI_SUCCESS) return code;
    code = MPI_Type_create_resized(whole, lb, whole_extent, made);
    MPI_Type_free(&whole);
    return code;
}

/* As repeat_type; frees `base` unless it is the one to keep. */
static int repeat_again(MPI_Datatype *type, MPI_Datatype keep, int64_t count, int64_t stride, MPI_Aint extent) {
    MPI_Datatype made;
    MPI_Aint bytes;
    int code = __builtin_mul_overflow(stride, (int64_t)extent, &bytes) ? NORN_MPI_TOO_LARGE
                                                                       : repeat_type(*type, count, bytes, &made);
    if (*type != keep) MPI_Type_free(type);
    if (code == MPI_SUCCESS) *type = made;
    return code;
}

static int make_blocks(MPI_Datatype base, int64_t count, int64_t blocks, int64_t stride, int64_t planes,
                       int64_t plane_stride, MPI_Datatype *made) {
    MPI_Datatype type = base;
    MPI_Aint lb, extent;
    EXPECT(MPI_Type_get_extent(base, &lb, &extent));
    EXPECT(repeat_again(&type, base, count, 1, extent));
    if (blocks != 1) EXPECT(repeat_again(&type, base, blocks, stride, extent));
    if (planes != 1) EXPECT(repeat_again(&type, base, planes, plane_stride, extent));
    *made = type;
    return MPI_Type_commit(made);
}

static int32_t type_blocks(int32_t base, int64_t count, int64_t blocks, int64_t stride, int64_t planes,
                           int64_t plane_stride, int32_t *handle) {
    MPI_Datatype type = TYPE_OF(base), made;
    struct quiet quiet;
    int code;
    if (no_type(type) || count < 0 || blocks < 0 || planes < 0) return NORN_MPI_INVALID;
    quiet_begin(&quiet);
    code = quiet_end(&quiet, make_blocks(type, count, blocks, stride, planes, plane_stride, &made));
    if (code != MPI_SUCCESS) return code;
    *handle = TYPE_INT(made);
    return NORN_MPI_OK;
}

static int32_t type_free(int32_t handle) {
    MPI_Datatype type = TYPE_OF(handle);
    struct quiet quiet;
    if (no_type(type)) return NORN_MPI_INVALID;
    quiet_begin(&quiet);
    return quiet_end(&quiet, MPI_Type_free(&type));
}

/* --- requests ---------------------------------------------------------------------------------------------------- */

enum kind { FREE, SEND, RECV, CANCELLED_RECV, COLLECTIVE, IDUP };

/* What a request needs until it is complete. */
struct keep {
    MPI_Comm comm;         /* IDUP: where MPI writes the new communicator */
    MPI_Datatype types[2]; /* made for a large count, or MPI_DATATYPE_NULL */
    int64_t arrays[];      /* counts and displacements, which MPI may read until then */
};

struct slot {
    uint64_t user;
    struct keep *keep; /* or NULL */
    uint32_t pass;     /* of the last test that looked at it */
    uint8_t kind;
};

/*
 * Slots [0, used) have been in use at least once; those of them that are free
 * are in `free`. A slot's request is MPI_REQUEST_NULL where it is free, and
 * where MPI had nothing to wait for.
 */
struct norn_mpi_requests {
    MPI_Request *request; /* by slot */
    struct slot *slot;
    int32_t *free;
    int32_t used, free_count, capacity;
    uint32_t pass;
    /* Scratch of a test. */
    MPI_Request *tested;
    int32_t *tested_slot;
    int *index;
    MPI_Status *status;
    int32_t scratch;
};

static int32_t requests_open(norn_mpi_requests **set) {
    norn_mpi_requests *made = calloc(1, sizeof *made);
    if (made == NULL) return NORN_MPI_NO_MEMORY;
    *set = made;
    return NORN_MPI_OK;
}

static int32_t requests_close(norn_mpi_requests *set) {
    if (set->free_count != set->used) return NORN_MPI_BUSY;
    free(set->request);
    free(set->slot);
    free(set->free);
    free(set->tested);
    free(set->tested_slot);
    free(set->index);
    free(set->status);
    free(set);
    return NORN_MPI_OK;
}

/* An array for `count` elements; on failure the old one stays. */
static int grow(void *array, int32_t count, size_t size) {
    void *old, *fresh;
    memcpy(&old, array, sizeof old);
    fresh = realloc(old, (size_t)count * size);
    if (fresh == NULL) return 0;
    memcpy(array, &fresh, sizeof fresh);
    return 1;
}

static int grow_slots(norn_mpi_requests *set) {
    int32_t more = set->capacity == 0 ? 64 : set->capacity > INT32_MAX / 2 ? INT32_MAX : 2 * set->capacity;
    if (more == set->capacity || !grow(&set->request, more, sizeof *set->request) ||
        !grow(&set->slot, more, sizeof *set->slot) || !grow(&set->free, more, sizeof *set->free)) {
        return NORN_MPI_NO_MEMORY;
    }
    set->capacity = more;
    return NORN_MPI_OK;
}

static int grow_scratch(norn_mpi_requests *set, int32_t count) {
    if (count <= set->scratch) return NORN_MPI_OK;
    if (!grow(&set->tested, count, sizeof *set->tested) || !grow(&set->tested_slot, count, sizeof *set->tested_slot) ||
        !grow(&set->index, count, sizeof *set->index) || !grow(&set->status, count, sizeof *set->status)) {
        return NORN_MPI_NO_MEMORY;
    }
    set->scratch = count;
    return NORN_MPI_OK;
}

/* A slot for a request about to be posted; `post` or `give_back` ends what this begins. */
static int take_slot(norn_mpi_requests *set, int32_t *slot) {
    if (set->free_count > 0) {
        *slot = set->free[--set->free_count];
        return NORN_MPI_OK;
    }
    if (set->used == set->capacity) EXPECT(grow_slots(set));
    *slot = set->used++;
    return NORN_MPI_OK;
}

static void drop_keep(struct keep *keep) {
    if (keep == NULL) return;
    for (int i = 0; i < 2; i++) {
        if (keep->types[i] != MPI_DATATYPE_NULL) MPI_Type_free(&keep->types[i]);
    }
    free(keep);
}

static void give_back(norn_mpi_requests *set, int32_t slot) {
    set->request[slot] = MPI_REQUEST_NULL;
    set->slot[slot].kind = FREE;
    set->free[set->free_count++] = slot;
}

/* Ends a posting call: with its slot, or with everything undone. */
static int32_t posted(norn_mpi_requests *set, int32_t slot, int code, uint8_t kind, uint64_t user, struct keep *keep,
                      int32_t *out) {
    if (code != MPI_SUCCESS) {
        drop_keep(keep);
        give_back(set, slot);
        return code;
    }
    set->slot[slot].user = user;
    set->slot[slot].keep = keep;
    set->slot[slot].kind = kind;
    *out = slot;
    return NORN_MPI_OK;
}

static struct keep *new_keep(int64_t array_elements) {
    struct keep *keep;
    if (array_elements > (INT64_MAX - (int64_t)sizeof *keep) / 8) return NULL;
    keep = malloc(sizeof *keep + (size_t)array_elements * sizeof *keep->arrays);
    if (keep == NULL) return NULL;
    keep->comm = MPI_COMM_NULL;
    keep->types[0] = keep->types[1] = MPI_DATATYPE_NULL;
    return keep;
}

/* `count` times `type` as one type, for an MPI whose counts are ints. */
static int large_type(MPI_Datatype type, int64_t count, MPI_Datatype *made) {
    MPI_Aint lb, extent;
    EXPECT(MPI_Type_get_extent(type, &lb, &extent));
    EXPECT(repeat_type(type, count, extent, made));
    return MPI_Type_commit(made);
}

static int32_t isend(norn_mpi_requests *set, const void *buffer, int64_t count, int32_t datatype, int32_t dest,
                     int32_t tag, int32_t comm, uint64_t user, int32_t *slot) {
    MPI_Datatype type = TYPE_OF(datatype);
    MPI_Comm all = COMM_OF(comm);
    MPI_Request *request;
    int32_t at;
    int code;
    if (no_comm(all) || no_type(type) || count < 0) return NORN_MPI_INVALID;
    EXPECT(take_slot(set, &at));
    request = &set->request[at];
    if (count <= INT_MAX) {
        code = MPI_Isend(buffer, (int)count, type, dest, tag, all, request);
    } else if (newer.Isend != NULL) {
        code = newer.Isend(buffer, count, type, dest, tag, all, request);
    } else if ((code = large_type(type, count, &type)) == MPI_SUCCESS) {
        code = MPI_Isend(buffer, 1, type, dest, tag, all, request);
        MPI_Type_free(&type);
    }
    return posted(set, at, code, SEND, user, NULL, slot);
}

static int32_t irecv(norn_mpi_requests *set, void *buffer, int64_t count, int32_t datatype, int32_t source, int32_t tag,
                     int32_t comm, uint64_t user, int32_t *slot) {
    MPI_Datatype type = TYPE_OF(datatype);
    MPI_Comm all = COMM_OF(comm);
    MPI_Request *request;
    int32_t at;
    int code;
    if (no_comm(all) || no_type(type) || count < 0) return NORN_MPI_INVALID;
    if (source == NORN_MPI_ANY) source = MPI_ANY_SOURCE;
    if (tag == NORN_MPI_ANY) tag = MPI_ANY_TAG;
    EXPECT(take_slot(set, &at));
    request = &set->request[at];
    if (count <= INT_MAX) {
        code = MPI_Irecv(buffer, (int)count, type, source, tag, all, request);
    } else if (newer.Irecv != NULL) {
        code = newer.Irecv(buffer, count, type, source, tag, all, request);
    } else if ((code = large_type(type, count, &type)) == MPI_SUCCESS) {
        code = MPI_Irecv(buffer, 1, type, source, tag, all, request);
        MPI_Type_free(&type);
    }
    return posted(set, at, code, RECV, user, NULL, slot);
}

static int32_t cancel(norn_mpi_requests *set, int32_t slot) {
    if (slot < 0 || slot >= set->used) return NORN_MPI_INVALID;
    if (set->slot[slot].kind == CANCELLED_RECV) return NORN_MPI_OK;
    if (set->slot[slot].kind != RECV) return NORN_MPI_INVALID;
    if (set->request[slot] != MPI_REQUEST_NULL) EXPECT(MPI_Cancel(&set->request[slot]));
    set->slot[slot].kind = CANCELLED_RECV;
    return NORN_MPI_OK;
}

static int post_idup(MPI_Comm comm, MPI_Comm *made, MPI_Request *request) {
    struct quiet quiet;
    quiet_begin(&quiet);
    quiet_one(&quiet, comm);
    if (newer.Comm_idup_with_info != NULL) {
        return quiet_end(&quiet, newer.Comm_idup_with_info(comm, MPI_INFO_NULL, made, request));
    }
    return quiet_end(&quiet, MPI_Comm_idup(comm, made, request));
}

static int32_t comm_idup(norn_mpi_requests *set, int32_t comm, uint64_t user, int32_t *slot) {
    MPI_Comm all = COMM_OF(comm);
    struct keep *keep;
    int32_t at;
    if (no_comm(all)) return NORN_MPI_INVALID;
    EXPECT(take_slot(set, &at));
    keep = new_keep(0);
    return posted(set, at, keep == NULL ? NORN_MPI_NO_MEMORY : post_idup(all, &keep->comm, &set->request[at]), IDUP,
                  user, keep, slot);
}

/* --- collectives ------------------------------------------------------------------------------------------------- */

/* A collective on its way to MPI: handles found, counts in the form that the call takes. */
struct call {
    const norn_mpi_collective *what;
    MPI_Comm comm;
    MPI_Op op;
    const void *send;
    void *recv;
    int64_t send_count, recv_count;
    MPI_Datatype send_type, recv_type;
    const void *send_counts, *send_displs, *recv_counts, *recv_displs;
    MPI_Request *request;
};

static int post_small(const struct call *c) {
    const void *send = c->send;
    void *recv = c->recv;
    int sends = (int)c->send_count, recvs = (int)c->recv_count, root = c->what->root;
    MPI_Datatype st = c->send_type, rt = c->recv_type;
    switch (c->what->kind) {
    case NORN_MPI_BARRIER: return MPI_Ibarrier(c->comm, c->request);
    case NORN_MPI_BCAST: return MPI_Ibcast(recv, recvs, rt, root, c->comm, c->request);
    case NORN_MPI_REDUCE: return MPI_Ireduce(send, recv, recvs, rt, c->op, root, c->comm, c->request);
    case NORN_MPI_ALLREDUCE: return MPI_Iallreduce(send, recv, recvs, rt, c->op, c->comm, c->request);
    case NORN_MPI_GATHER: return MPI_Igather(send, sends, st, recv, recvs, rt, root, c->comm, c->request);
    case NORN_MPI_GATHERV:
        return MPI_Igatherv(send, sends, st, recv, c->recv_counts, c->recv_displs, rt, root, c->comm, c->request);
    case NORN_MPI_SCATTER: return MPI_Iscatter(send, sends, st, recv, recvs, rt, root, c->comm, c->request);
    case NORN_MPI_SCATTERV:
        return MPI_Iscatterv(send, c->send_counts, c->send_displs, st, recv, recvs, rt, root, c->comm, c->request);
    case NORN_MPI_ALLGATHER: return MPI_Iallgather(send, sends, st, recv, recvs, rt, c->comm, c->request);
    case NORN_MPI_ALLGATHERV:
        return MPI_Iallgatherv(send, sends, st, recv, c->recv_counts, c->recv_displs, rt, c->comm, c->request);
    case NORN_MPI_ALLTOALL: return MPI_Ialltoall(send, sends, st, recv, recvs, rt, c->comm, c->request);
    case NORN_MPI_ALLTOALLV:
        return MPI_Ialltoallv(send, c->send_counts, c->send_displs, st, recv, c->recv_counts, c->recv_displs, rt,
                              c->comm, c->request);
    }
    return NORN_MPI_INVALID;
}

static int post_large(const struct call *c) {
    const void *send = c->send;
    void *recv = c->recv;
    big sends = c->send_count, recvs = c->recv_count;
    int root = c->what->root;
    MPI_Datatype st = c->send_type, rt = c->recv_type;
    switch (c->what->kind) {
    case NORN_MPI_BCAST: return newer.Ibcast(recv, recvs, rt, root, c->comm, c->request);
    case NORN_MPI_REDUCE: return newer.Ireduce(send, recv, recvs, rt, c->op, root, c->comm, c->request);
    case NORN_MPI_ALLREDUCE: return newer.Iallreduce(send, recv, recvs, rt, c->op, c->comm, c->request);
    case NORN_MPI_GATHER: return newer.Igather(send, sends, st, recv, recvs, rt, root, c->comm, c->request);
    case NORN_MPI_GATHERV:
        return newer.Igatherv(send, sends, st, recv, c->recv_counts, c->recv_displs, rt, root, c->comm, c->request);
    case NORN_MPI_SCATTER: return newer.Iscatter(send, sends, st, recv, recvs, rt, root, c->comm, c->request);
    case NORN_MPI_SCATTERV:
        return newer.Iscatterv(send, c->send_counts, c->send_displs, st, recv, recvs, rt, root, c->comm, c->request);
    case NORN_MPI_ALLGATHER: return newer.Iallgather(send, sends, st, recv, recvs, rt, c->comm, c->request);
    case NORN_MPI_ALLGATHERV:
        return newer.Iallgatherv(send, sends, st, recv, c->recv_counts, c->recv_displs, rt, c->comm, c->request);
    case NORN_MPI_ALLTOALL: return newer.Ialltoall(send, sends, st, recv, recvs, rt, c->comm, c->request);
    case NORN_MPI_ALLTOALLV:
        return newer.Ialltoallv(send, c->send_counts, c->send_displs, st, recv, c->recv_counts, c->recv_displs, rt,
                                c->comm, c->request);
    }
    return NORN_MPI_INVALID;
}

/* Which arguments a kind reads; on a rank that is not the root, MPI ignores some of them. */
enum { SENDS = 1, RECVS = 2, SEND_V = 4, RECV_V = 8, REDUCES = 16 };

static int parts_of(const norn_mpi_collective *what, int rank) {
    int root = rank == what->root;
    switch (what->kind) {
    case NORN_MPI_BCAST: return RECVS;
    case NORN_MPI_REDUCE:
    case NORN_MPI_ALLREDUCE: return RECVS | REDUCES;
    case NORN_MPI_GATHER: return SENDS | (root ? RECVS : 0);
    case NORN_MPI_GATHERV: return SENDS | (root ? RECVS | RECV_V : 0);
    case NORN_MPI_SCATTER: return RECVS | (root ? SENDS : 0);
    case NORN_MPI_SCATTERV: return RECVS | (root ? SENDS | SEND_V : 0);
    case NORN_MPI_ALLGATHER:
    case NORN_MPI_ALLTOALL: return SENDS | RECVS;
    case NORN_MPI_ALLGATHERV: return SENDS | RECVS | RECV_V;
    case NORN_MPI_ALLTOALLV: return SENDS | RECVS | SEND_V | RECV_V;
    default: return 0;
    }
}

static int fits(const int64_t *numbers, int size) {
    for (int i = 0; i < size; i++) {
        if (numbers[i] > INT_MAX || numbers[i] < INT_MIN) return 0;
    }
    return 1;
}

/* Copies an array into `to` in the form that the call takes, and says where. */
static void copy_numbers(const int64_t *numbers, int size, int large, int64_t **to, const void **out) {
    *out = *to;
    if (large) {
        memcpy(*to, numbers, (size_t)size * sizeof *numbers);
    } else {
        int *ints = (int *)*to;
        for (int i = 0; i < size; i++) ints[i] = (int)numbers[i];
    }
    *to += size;
}

/* A count beyond an int, without large counts: one element of a type made for it. */
static int one_element(int64_t *count, MPI_Datatype *type, MPI_Datatype *kept) {
    MPI_Datatype made;
    if (*count <= INT_MAX) return MPI_SUCCESS;
    EXPECT(large_type(*type, *count, &made));
    *kept = *type = made;
    *count = 1;
    return MPI_SUCCESS;
}

static int post_collective(struct call *c, int parts, int ranks, struct keep *keep) {
    const norn_mpi_collective *what = c->what;
    int64_t *at = keep->arrays;
    int send_v = (parts & SEND_V) != 0, recv_v = (parts & RECV_V) != 0;
    int v_fits = (!send_v || (fits(what->send_counts, ranks) && fits(what->send_displs, ranks))) &&
                 (!recv_v || (fits(what->recv_counts, ranks) && fits(what->recv_displs, ranks)));
    int large = !v_fits || c->send_count > INT_MAX || c->recv_count > INT_MAX;
    if (large && !has_large_counts()) {
        /* The other ranks cannot know that this one would need a derived type here, nor can an operation use one. */
        if (!v_fits || (parts & REDUCES)) return NORN_MPI_TOO_LARGE;
        EXPECT(one_element(&c->send_count, &c->send_type, &keep->types[0]));
        EXPECT(one_element(&c->recv_count, &c->recv_type, &keep->types[1]));
        large = 0;
    }
    if (send_v) {
        copy_numbers(what->send_counts, ranks, large, &at, &c->send_counts);
        copy_numbers(what->send_displs, ranks, large, &at, &c->send_displs);
    }
    if (recv_v) {
        copy_numbers(what->recv_counts, ranks, large, &at, &c->recv_counts);
        copy_numbers(what->recv_displs, ranks, large, &at, &c->recv_displs);
    }
    return large ? post_large(c) : post_small(c);
}

static int32_t icollective(norn_mpi_requests *set, const norn_mpi_collective *what, uint64_t user, int32_t *slot) {
    const void *in_place = (const void *)(intptr_t)NORN_MPI_IN_PLACE;
    struct call c = {what, COMM_OF(what->comm), MPI_OP_NULL, what->send, what->recv, 0, 0, MPI_BYTE, MPI_BYTE,
                     NULL, NULL, NULL, NULL, NULL};
    int ranks, rank, parts, vs;
    struct keep *keep;
    int32_t at;
    if (no_comm(c.comm) || what->kind < NORN_MPI_BARRIER || what->kind > NORN_MPI_ALLTOALLV) return NORN_MPI_INVALID;
    EXPECT(MPI_Comm_size(c.comm, &ranks));
    EXPECT(MPI_Comm_rank(c.comm, &rank));
    parts = parts_of(what, rank);
    if (what->send == in_place) {
        c.send = MPI_IN_PLACE;
        parts &= ~(SENDS | SEND_V);
    }
    if (what->recv == in_place) {
        c.recv = MPI_IN_PLACE;
        parts &= ~(RECVS | RECV_V);
    }
    if (parts & SENDS) c.send_type = TYPE_OF(what->send_type);
    if (parts & RECVS) c.recv_type = TYPE_OF(what->recv_type);
    if (parts & REDUCES) c.op = OP_OF(what->op);
    if ((parts & SENDS) && !(parts & SEND_V)) c.send_count = what->send_count;
    if ((parts & RECVS) && !(parts & RECV_V)) c.recv_count = what->recv_count;
    if (no_type(c.send_type) || no_type(c.recv_type) || ((parts & REDUCES) && (!c.op || c.op == MPI_OP_NULL)) ||
        c.send_count < 0 || c.recv_count < 0) {
        return NORN_MPI_INVALID;
    }
    vs = ((parts & SEND_V) ? 2 : 0) + ((parts & RECV_V) ? 2 : 0);
    EXPECT(take_slot(set, &at));
    c.request = &set->request[at];
    keep = new_keep((int64_t)vs * ranks);
    return posted(set, at, keep == NULL ? NORN_MPI_NO_MEMORY : post_collective(&c, parts, ranks, keep), COLLECTIVE,
                  user, keep, slot);
}

static int32_t count_limit(int64_t *limit) {
    *limit = has_large_counts() ? INT64_MAX : INT32_MAX;
    return NORN_MPI_OK;
}

/* --- completion -------------------------------------------------------------------------------------------------- */

static void read_message(MPI_Status *status, norn_mpi_done *done) {
    big bytes;
    done->source = status->MPI_SOURCE;
    done->tag = status->MPI_TAG;
    done->bytes = newer.Get_count(status, MPI_BYTE, &bytes) == MPI_SUCCESS && bytes != MPI_UNDEFINED
                      ? bytes
                      : NORN_MPI_UNDEFINED;
}

/* Describes a finished request and frees its slot. `status` NULL: MPI had nothing to wait for. */
static void finish(norn_mpi_requests *set, int32_t at, int code, MPI_Status *status, norn_mpi_done *done) {
    struct slot *slot = &set->slot[at];
    int class = MPI_SUCCESS, cancelled = 0;
    memset(done, 0, sizeof *done);
    done->user = slot->user;
    done->slot = at;
    done->bytes = NORN_MPI_UNDEFINED;
    done->outcome = NORN_MPI_DONE;
    if (code != MPI_SUCCESS) {
        MPI_Error_class(code, &class);
        done->outcome = class == MPI_ERR_TRUNCATE ? NORN_MPI_TRUNCATED : NORN_MPI_FAILED;
        done->error = code;
    }
    if (status != NULL && slot->kind == CANCELLED_RECV) MPI_Test_cancelled(status, &cancelled);
    if (cancelled) {
        done->outcome = NORN_MPI_CANCELLED;
        done->error = 0;
    } else if (status != NULL && (slot->kind == RECV || slot->kind == CANCELLED_RECV)) {
        read_message(status, done);
    } else if (slot->kind == IDUP && code == MPI_SUCCESS) {
        MPI_Comm_set_errhandler(slot->keep->comm, MPI_ERRORS_RETURN);
        done->comm = COMM_INT(slot->keep->comm);
    }
    drop_keep(slot->keep);
    slot->keep = NULL;
    give_back(set, at);
}

/* Open MPI sends the error of a request to the handler of its communicator. MPICH has forgotten which that was. */
static void quiet_requests(struct quiet *quiet) {
    quiet->count = 0;
#ifdef OPEN_MPI
    (void)quiet;
#else
    quiet_one(quiet, MPI_COMM_SELF);
    quiet_one(quiet, MPI_COMM_WORLD);
#endif
}

static int test_one(norn_mpi_requests *set, int *flag) {
    struct quiet quiet;
    quiet_requests(&quiet);
    return quiet_end(&quiet, MPI_Test(&set->tested[0], flag, &set->status[0]));
}

/* MPI_Testsome with the errors of requests in the statuses, and any other error as a code. */
static int test_some(norn_mpi_requests *set, int count, int *finished) {
    struct quiet quiet;
    int code, class;
    quiet_requests(&quiet);
    code = quiet_end(&quiet, MPI_Testsome(count, set->tested, finished, set->index, set->status));
    if (code == MPI_SUCCESS) {
        /* Only now are the errors in the statuses undefined. */
        for (int i = 0; i < *finished; i++) set->status[i].MPI_ERROR = MPI_SUCCESS;
        return MPI_SUCCESS;
    }
    MPI_Error_class(code, &class);
    return class == MPI_ERR_IN_STATUS ? MPI_SUCCESS : code;
}

/* Collects the requests to test; writes those that MPI has nothing to wait for to `done` at once. */
static int collect(norn_mpi_requests *set, const int32_t *slots, int32_t count, norn_mpi_done *done, int32_t *written) {
    int collected = 0;
    set->pass++;
    for (int32_t i = 0; i < count; i++) {
        int32_t at = slots[i];
        if (at < 0 || at >= set->used || set->slot[at].kind == FREE || set->slot[at].pass == set->pass) continue;
        if (set->request[at] == MPI_REQUEST_NULL) {
            finish(set, at, MPI_SUCCESS, NULL, &done[(*written)++]);
            continue;
        }
        set->slot[at].pass = set->pass;
        set->tested[collected] = set->request[at];
        set->tested_slot[collected++] = at;
    }
    return collected;
}

static int32_t test(norn_mpi_requests *set, const int32_t *slots, int32_t slot_count, norn_mpi_done *done,
                    int32_t *done_count) {
    int32_t written = 0;
    int count, finished = 0, flag, code;
    if (slot_count > set->scratch) EXPECT(grow_scratch(set, slot_count));
    count = collect(set, slots, slot_count, done, &written);
    if (count == 1) {
        code = test_one(set, &flag);
        set->request[set->tested_slot[0]] = set->tested[0];
        if (code != MPI_SUCCESS || flag) {
            finish(set, set->tested_slot[0], code, &set->status[0], &done[written++]);
        }
    } else if (count > 1) {
        code = test_some(set, count, &finished);
        if (code == MPI_SUCCESS) {
            if (finished == MPI_UNDEFINED) finished = 0;
            for (int i = 0; i < finished; i++) {
                finish(set, set->tested_slot[set->index[i]], set->status[i].MPI_ERROR, &set->status[i],
                       &done[written++]);
            }
        } else {
            /* No statuses then. What MPI gave up has failed; where it gave up nothing, the call itself has. */
            int32_t before = written;
            for (int i = 0; i < count; i++) {
                if (set->tested[i] != MPI_REQUEST_NULL) continue;
                finish(set, set->tested_slot[i], code, NULL, &done[written++]);
            }
            if (written == before && written == 0) return code;
        }
    }
    *done_count = written;
    return NORN_MPI_OK;
}

static int32_t iprobe(int32_t source, int32_t tag, int32_t comm, int32_t *found, norn_mpi_done *message) {
    MPI_Comm all = COMM_OF(comm);
    MPI_Status status;
    int flag;
    if (no_comm(all)) return NORN_MPI_INVALID;
    EXPECT(MPI_Iprobe(source == NORN_MPI_ANY ? MPI_ANY_SOURCE : source, tag == NORN_MPI_ANY ? MPI_ANY_TAG : tag, all,
                      &flag, &status));
    *found = flag != 0;
    if (flag) {
        memset(message, 0, sizeof *message);
        message->slot = -1;
        read_message(&status, message);
    }
    return NORN_MPI_OK;
}

/* --- memory ------------------------------------------------------------------------------------------------------ */

static int32_t alloc_memory(uint64_t bytes, void **address) {
    struct quiet quiet;
    void *got = NULL;
    if (bytes > (uint64_t)PTRDIFF_MAX) return NORN_MPI_NO_MEMORY;
    if (bytes > 0) {
        quiet_begin(&quiet);
        EXPECT(quiet_end(&quiet, MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &got)));
    }
    *address = got;
    return NORN_MPI_OK;
}

static int32_t free_memory(void *address) {
    struct quiet quiet;
    if (address == NULL) return NORN_MPI_OK;
    quiet_begin(&quiet);
    return quiet_end(&quiet, MPI_Free_mem(address));
}

static const norn_mpi_table table = {
    .version = NORN_MPI_TABLE_VERSION,
    .struct_size = sizeof(norn_mpi_table),
    .family = FAMILY,
    .built_for = BUILT_FOR,
    .state = state,
    .library_text = library_text,
    .error_text = error_text,
    .thread = thread,
    .world = world,
    .device_aware = device_aware,
    .abort = abort_world,
    .comm_info = comm_info,
    .comm_idup = comm_idup,
    .comm_free = comm_free,
    .type_builtin = type_builtin,
    .type_info = type_info,
    .type_blocks = type_blocks,
    .type_free = type_free,
    .op_builtin = op_builtin,
    .requests_open = requests_open,
    .requests_close = requests_close,
    .isend = isend,
    .irecv = irecv,
    .icollective = icollective,
    .count_limit = count_limit,
    .test = test,
    .cancel = cancel,
    .iprobe = iprobe,
    .alloc = alloc_memory,
    .free = free_memory,
};

__attribute__((visibility("default"))) const norn_mpi_table *norn_mpi_plugin(void);

const norn_mpi_table *norn_mpi_plugin(void) {
    look_at_this_mpi();
    return &table;
}
