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
#include "this_mpi.h"

#include "quiet.h"

static int copy_text(const char *from, char *to, size_t size) {
    if (size > 0) {
        size_t length = strlen(from);
        if (length >= size) length = size - 1;
        memcpy(to, from, length);
        to[length] = 0;
    }
    return NORN_MPI_OK;
}

/* Asked before each pass. MPI that was initialised stays so until it is finalised. */
static int32_t state(int32_t *out) {
    static _Atomic int initialized;
    int yes = 0;
    EXPECT(MPI_Finalized(&yes));
    if (yes) {
        *out = NORN_MPI_FINALIZED;
        return NORN_MPI_OK;
    }
    if (!initialized) {
        EXPECT(MPI_Initialized(&yes));
        initialized = yes;
    }
    *out = initialized ? NORN_MPI_ACTIVE : NORN_MPI_BEFORE_INIT;
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

/* Communicators. */

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

#include "types.h"

#include "requests.h"

#include "collectives.h"
#include "messages.h"

/* Memory. */

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

/* The end. An attribute of MPI_COMM_SELF is deleted first of all in MPI_Finalize. */

static norn_mpi_then_fn then_at_finalize;

static int finalize_begins(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    then_at_finalize(NORN_MPI_NO_HANDLE);
    return MPI_SUCCESS;
}

static int32_t at_finalize(int32_t comm, norn_mpi_then_fn then) {
    int key;
    struct quiet quiet;
    (void)comm;
    /* Attached by one thread at a time, as the thread level asks, or under the same function. */
    if (then_at_finalize == then) return NORN_MPI_OK;
    quiet_begin(&quiet);
    int code = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalize_begins, &key, NULL);
    if (code == MPI_SUCCESS) {
        then_at_finalize = then;
        code = MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
        if (code != MPI_SUCCESS) then_at_finalize = NULL;
        MPI_Comm_free_keyval(&key);
    }
    return quiet_end(&quiet, code);
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
    .at_finalize = at_finalize,
    .op_check = op_check,
};

__attribute__((visibility("default"))) const norn_mpi_table *norn_mpi_plugin(void);

const norn_mpi_table *norn_mpi_plugin(void) {
    look_at_this_mpi();
    return &table;
}
