/*
 * norn as an optional dependency: the calls of norn.h, found at run time.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Include this file where norn.h would be included, and do not link libnorn. The program starts
 * with or without the library; norn_dl_load says which:
 *
 *     #include <norn_dl.h>
 *
 *     norn_runtime *rt;
 *     if (norn_dl_load(NULL) != NORN_OK) return serial_path();
 *     norn_open(NULL, &rt);                            the calls of norn.h, unchanged
 *
 * Before norn_dl_load has succeeded, every call returns NORN_E_UNSUPPORTED and norn_last_error()
 * says so. So does, for ever, a call of a function that an older library lacks; the text names it.
 *
 * It needs the C library only (before glibc 2.34: also -ldl). C99 and C++11, gcc and clang. norn.h must be
 * beside it or on the include path; a project may carry copies of both. The order of the two
 * does not matter, but norn.hpp and other headers with inline code that calls norn come after.
 *
 * One table a linked object. Each norn_submit(...) of the program becomes an inline function that
 * jumps through a table of addresses. The table is a weak, hidden symbol: all translation units of
 * one executable or one shared library, C and C++ alike, share it without a source file that would have to
 * define it, and one norn_dl_load serves them all. It is not shared between the executable and its
 * shared libraries, since these may have been compiled with different versions of this file; each calls
 * norn_dl_load for itself, and all get the same libnorn. For the same reason its name holds the
 * version of this header: objects of another version in the same link have a table of their own.
 *
 * Threads. norn_dl_load may run in several threads at once. Addresses are written under its lock,
 * with release, and read without a lock, with acquire; an address that has been seen stays valid,
 * because the library is never unloaded.
 *
 * The parts marked so are generated from norn.h by tools/dl_header.py.
 */
#ifndef NORN_DL_H
#define NORN_DL_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "norn.h"

#define NORN_DL_SHARED_ __attribute__((weak, visibility("hidden")))
#ifdef __cplusplus
/* Not static: inline functions of other headers that call these must be the same everywhere. In a
 * namespace: not the same as those of another version of this header. */
#define NORN_DL_INLINE_ inline __attribute__((visibility("hidden")))
#define NORN_DL_NULL_ nullptr
#define NORN_DL_BEGIN_ inline namespace NORN_DL_NAMESPACE_ {
#define NORN_DL_END_ }
#else
#define NORN_DL_INLINE_ static inline
#define NORN_DL_NULL_ NULL
#define NORN_DL_BEGIN_
#define NORN_DL_END_
#endif

/* Generated from here (tools/dl_header.py): the functions. */
#define NORN_DL_SONAME_ "libnorn.so.0"
#define NORN_DL_TABLE_ norn_dl_table_0_1_0_73_
#define NORN_DL_SAID_ norn_dl_said_0_1_0_73_
#define NORN_DL_LOCK_ norn_dl_lock_0_1_0_73_
#define NORN_DL_NAMESPACE_ norn_dl_0_1_0_73_
NORN_DL_BEGIN_
enum {
    NORN_DL_norn_self_get_,
    NORN_DL_norn_self_release_,
    NORN_DL_norn_self_fail_,
    NORN_DL_norn_self_hold_,
    NORN_DL_norn_unhold_,
    NORN_DL_norn_self_provider_,
    NORN_DL_norn_data_register_,
    NORN_DL_norn_data_alloc_,
    NORN_DL_norn_data_split_,
    NORN_DL_norn_data_join_,
    NORN_DL_norn_data_rebind_,
    NORN_DL_norn_data_unregister_,
    NORN_DL_norn_data_acquire_,
    NORN_DL_norn_data_release_,
    NORN_DL_norn_data_pointer_,
    NORN_DL_norn_reserve_,
    NORN_DL_norn_reserve_abandon_,
    NORN_DL_norn_device_open_,
    NORN_DL_norn_device_get_,
    NORN_DL_norn_copy_,
    NORN_DL_norn_fill_,
    NORN_DL_norn_stream_record_,
    NORN_DL_norn_stream_wait_,
    NORN_DL_norn_module_load_,
    NORN_DL_norn_kernel_get_,
    NORN_DL_norn_launch_,
    NORN_DL_norn_group_open_,
    NORN_DL_norn_group_close_,
    NORN_DL_norn_mpi_register_,
    NORN_DL_norn_version_,
    NORN_DL_norn_status_name_,
    NORN_DL_norn_last_error_,
    NORN_DL_norn_open_version_,
    NORN_DL_norn_close_,
    NORN_DL_norn_close_with_,
    NORN_DL_norn_drain_,
    NORN_DL_norn_progress_,
    NORN_DL_norn_seal_,
    NORN_DL_norn_stats_,
    NORN_DL_norn_dump_,
    NORN_DL_norn_intern_,
    NORN_DL_norn_submit_,
    NORN_DL_norn_submit_many_,
    NORN_DL_norn_declare_,
    NORN_DL_norn_promise_,
    NORN_DL_norn_fulfill_,
    NORN_DL_norn_fail_,
    NORN_DL_norn_edge_,
    NORN_DL_norn_start_,
    NORN_DL_norn_await_,
    NORN_DL_norn_await_all_,
    NORN_DL_norn_await_any_,
    NORN_DL_norn_test_,
    NORN_DL_norn_cancel_,
    NORN_DL_norn_error_,
    NORN_DL_norn_on_complete_,
    NORN_DL_norn_eventfd_,
    NORN_DL_norn_world_attach_f_,
    NORN_DL_norn_world_get_,
    NORN_DL_norn_world_flush_,
    NORN_DL_norn_world_fail_,
    NORN_DL_norn_world_detach_,
    NORN_DL_norn_world_lane_,
    NORN_DL_norn_send_,
    NORN_DL_norn_recv_,
    NORN_DL_norn_barrier_,
    NORN_DL_norn_bcast_,
    NORN_DL_norn_reduce_,
    NORN_DL_norn_allreduce_,
    NORN_DL_norn_gather_,
    NORN_DL_norn_scatter_,
    NORN_DL_norn_allgather_,
    NORN_DL_norn_alltoall_,
    NORN_DL_COUNT_
};
NORN_DL_INLINE_ const char *norn_dl_name_(int32_t function) {
    static const char *const names[] = {
        "norn_self_get",
        "norn_self_release",
        "norn_self_fail",
        "norn_self_hold",
        "norn_unhold",
        "norn_self_provider",
        "norn_data_register",
        "norn_data_alloc",
        "norn_data_split",
        "norn_data_join",
        "norn_data_rebind",
        "norn_data_unregister",
        "norn_data_acquire",
        "norn_data_release",
        "norn_data_pointer",
        "norn_reserve",
        "norn_reserve_abandon",
        "norn_device_open",
        "norn_device_get",
        "norn_copy",
        "norn_fill",
        "norn_stream_record",
        "norn_stream_wait",
        "norn_module_load",
        "norn_kernel_get",
        "norn_launch",
        "norn_group_open",
        "norn_group_close",
        "norn_mpi_register",
        "norn_version",
        "norn_status_name",
        "norn_last_error",
        "norn_open_version",
        "norn_close",
        "norn_close_with",
        "norn_drain",
        "norn_progress",
        "norn_seal",
        "norn_stats",
        "norn_dump",
        "norn_intern",
        "norn_submit",
        "norn_submit_many",
        "norn_declare",
        "norn_promise",
        "norn_fulfill",
        "norn_fail",
        "norn_edge",
        "norn_start",
        "norn_await",
        "norn_await_all",
        "norn_await_any",
        "norn_test",
        "norn_cancel",
        "norn_error",
        "norn_on_complete",
        "norn_eventfd",
        "norn_world_attach_f",
        "norn_world_get",
        "norn_world_flush",
        "norn_world_fail",
        "norn_world_detach",
        "norn_world_lane",
        "norn_send",
        "norn_recv",
        "norn_barrier",
        "norn_bcast",
        "norn_reduce",
        "norn_allreduce",
        "norn_gather",
        "norn_scatter",
        "norn_allgather",
        "norn_alltoall",
    };
    return names[function];
}
NORN_DL_END_
/* Generated to here. */

#ifdef __cplusplus
extern "C" {
#endif

struct norn_dl_table_ {
    int32_t loaded;  /* 1 once all addresses below are final */
    int32_t version; /* of the library, as NORN_HEADER_VERSION; written before `loaded` */
    void *address[NORN_DL_COUNT_];
};
extern struct norn_dl_table_ NORN_DL_TABLE_ NORN_DL_SHARED_;
struct norn_dl_table_ NORN_DL_TABLE_; /* zero */

/* What the calling thread was told last by this header and not by the library. */
struct norn_dl_said_ {
    const char *text; /* NULL: the library has the word */
    char load[512];   /* why norn_dl_load failed */
};
extern __thread struct norn_dl_said_ NORN_DL_SAID_ NORN_DL_SHARED_;
__thread struct norn_dl_said_ NORN_DL_SAID_; /* zero */

/* Held by norn_dl_load. */
#ifdef __cplusplus /* the C library's initialiser says 0 for a pointer */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#endif
extern pthread_mutex_t NORN_DL_LOCK_ NORN_DL_SHARED_;
pthread_mutex_t NORN_DL_LOCK_ = PTHREAD_MUTEX_INITIALIZER;
#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#ifdef __linux__
/* glibc and musl declare it on request only; the label makes a name of our own for it. */
extern char *norn_dl_getenv_(const char *name) __asm__("secure_getenv");
#else
#define norn_dl_getenv_ getenv
#endif

#ifdef __cplusplus
} // extern "C"
#endif

NORN_DL_BEGIN_
NORN_DL_INLINE_ void norn_dl_refuse_(const char *name, const char *why) {
    snprintf(NORN_DL_SAID_.load, sizeof NORN_DL_SAID_.load, "%s: %s", name, why);
}

/* Whether `library`, opened as `name`, is a libnorn that this header may call. */
NORN_DL_INLINE_ norn_status norn_dl_check_(void *library, const char *name, int32_t *version) {
    __typeof__(&norn_version) version_of;
    void *address = dlsym(library, "norn_version");
    int32_t major = 0, minor = 0, patch = 0;
    char why[128];
    if (!address) {
        norn_dl_refuse_(name, "is no libnorn: it has no norn_version");
        return NORN_E_UNSUPPORTED;
    }
    memcpy(&version_of, &address, sizeof address);
    version_of(&major, &minor, &patch);
    if (major != NORN_VERSION_MAJOR) {
        snprintf(why, sizeof why, "is norn %d.%d.%d, and this program was compiled for norn %d.%d", major, minor,
                 patch, NORN_VERSION_MAJOR, NORN_VERSION_MINOR);
        norn_dl_refuse_(name, why);
        return NORN_E_VERSION;
    }
    *version = major * 1000000 + minor * 1000 + patch;
    return NORN_OK;
}

/* Opens a library by name or path. Its soname says which ABI it has, and glibc finds a loaded library by the
 * soname, whatever its path was. */
NORN_DL_INLINE_ norn_status norn_dl_open_file_(const char *name, void **library) {
    const char *why;
    *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!*library) {
        why = dlerror(); /* begins with the name */
        snprintf(NORN_DL_SAID_.load, sizeof NORN_DL_SAID_.load, "%s", why ? why : name);
        return NORN_E_UNSUPPORTED;
    }
#ifdef __GLIBC__
    {
        void *by_soname = dlopen(NORN_DL_SONAME_, RTLD_NOW | RTLD_NOLOAD);
        if (by_soname) dlclose(by_soname);
        if (by_soname != *library && dlsym(*library, "norn_version")) {
            norn_dl_refuse_(name, "is not " NORN_DL_SONAME_ " by its soname, and this program was compiled for that");
            dlclose(*library);
            return NORN_E_VERSION;
        }
    }
#endif
    return NORN_OK;
}

NORN_DL_INLINE_ norn_status norn_dl_load_locked_(struct norn_dl_table_ *table, const char *path) {
    norn_status status = NORN_OK;
    const char *name = NORN_DL_SONAME_;
    void *library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    int32_t version = 0, index;
    if (!library) {
        if (!path) path = norn_dl_getenv_("NORN_LIBRARY");
        else if (path[0] == 0) {
            norn_dl_refuse_("norn_dl_load", "the path is empty");
            return NORN_E_INVALID;
        }
        if (path && path[0] != 0) name = path;
        status = norn_dl_open_file_(name, &library);
        if (status != NORN_OK) return status;
    }
    status = norn_dl_check_(library, name, &version);
    if (status != NORN_OK) {
        dlclose(library);
        return status;
    }
    table->version = version;
    for (index = 0; index < NORN_DL_COUNT_; index++)
        __atomic_store_n(&table->address[index], dlsym(library, norn_dl_name_(index)), __ATOMIC_RELEASE);
    __atomic_store_n(&table->loaded, 1, __ATOMIC_RELEASE);
    return NORN_OK;
}

/* Finds libnorn, for the executable or shared library that the call is compiled into.
 *
 * A libnorn.so.N that is in the process already (linked, preloaded, or loaded by somebody else) is taken, so
 * that there is one. Otherwise `path_or_null`; if NULL, what the environment variable NORN_LIBRARY names (not in a
 * setuid program); if that is not set or empty, libnorn.so.N by the loader's search (LD_LIBRARY_PATH, the
 * RUNPATH of the caller, the system's folders). A libnorn.a inside the program is not seen: the library that is
 * loaded beside it is a second norn, and neither knows the other's handles.
 *
 * Once it has succeeded, further calls do nothing and return NORN_OK, whatever the path; after a
 * failure a further call tries again. The library stays loaded until the process ends.
 * Errors: NORN_E_UNSUPPORTED (not found, not loadable, or no libnorn), NORN_E_VERSION (another soname or major
 * version), NORN_E_INVALID (an empty path); norn_dl_error() has the text. A library that lacks functions of this
 * header is no error: see norn_dl_missing. Any thread; blocks while the loader works. */
NORN_DL_INLINE_ norn_status norn_dl_load(const char *path_or_null) {
    norn_status status = NORN_OK;
    NORN_DL_SAID_.text = NORN_DL_NULL_;
    NORN_DL_SAID_.load[0] = 0;
    pthread_mutex_lock(&NORN_DL_LOCK_);
    if (!NORN_DL_TABLE_.loaded) status = norn_dl_load_locked_(&NORN_DL_TABLE_, path_or_null);
    pthread_mutex_unlock(&NORN_DL_LOCK_);
    if (status != NORN_OK) NORN_DL_SAID_.text = NORN_DL_SAID_.load;
    return status;
}

/* Why the calling thread's last norn_dl_load failed; "" if it did not. Never NULL; valid until that thread's
 * next norn_dl_load. Any thread; never blocks. */
NORN_DL_INLINE_ const char *norn_dl_error(void) { return NORN_DL_SAID_.load; }

/* Name of a function of norn.h that the loaded library lacks, for index 0, 1, ...; NULL after the last, and
 * before the library is loaded. Static. Any thread; never blocks. */
NORN_DL_INLINE_ const char *norn_dl_missing(uint32_t index) {
    int32_t function;
    if (!__atomic_load_n(&NORN_DL_TABLE_.loaded, __ATOMIC_ACQUIRE)) return NORN_DL_NULL_;
    for (function = 0; function < NORN_DL_COUNT_; function++)
        if (!__atomic_load_n(&NORN_DL_TABLE_.address[function], __ATOMIC_ACQUIRE) && index-- == 0)
            return norn_dl_name_(function);
    return NORN_DL_NULL_;
}

/* Copies the address of a function into the pointer at `call`; 0 if there is none. */
NORN_DL_INLINE_ int norn_dl_find_(int function, void *call) {
    void *address = __atomic_load_n(&NORN_DL_TABLE_.address[function], __ATOMIC_ACQUIRE);
    memcpy(call, &address, sizeof address);
    return address ? 1 : 0;
}

/* The answer of a function that is not there. */
#define NORN_DL_UNSUPPORTED_(name)                                          \
    norn_dl_unsupported_(name ": no libnorn is loaded (norn_dl_load)",      \
                         name ": the libnorn that is loaded has no such function")
NORN_DL_INLINE_ norn_status norn_dl_unsupported_(const char *unloaded, const char *lacking) {
    NORN_DL_SAID_.text = __atomic_load_n(&NORN_DL_TABLE_.loaded, __ATOMIC_ACQUIRE) ? lacking : unloaded;
    return NORN_E_UNSUPPORTED;
}

/* Passes a result of the library on; an error of its own is newer than what this header said. */
NORN_DL_INLINE_ norn_status norn_dl_result_(norn_status status) {
    if (status != NORN_OK) NORN_DL_SAID_.text = NORN_DL_NULL_;
    return status;
}

/* An older library would refuse the version of a newer header. What it lacks answers by itself here, and it
 * refuses fields that it does not know; so it is told its own version. */
NORN_DL_INLINE_ int32_t norn_dl_header_version_(int32_t version) {
    if (__atomic_load_n(&NORN_DL_TABLE_.loaded, __ATOMIC_ACQUIRE) && version == NORN_HEADER_VERSION &&
        version > NORN_DL_TABLE_.version)
        return NORN_DL_TABLE_.version;
    return version;
}

/* Generated from here (tools/dl_header.py): the calls. */
NORN_DL_INLINE_ norn_status norn_dl_self_get_(struct norn_self *self_, struct norn_self_info *info) {
    __typeof__(&norn_self_get) call;
    if (!norn_dl_find_(NORN_DL_norn_self_get_, &call)) return NORN_DL_UNSUPPORTED_("norn_self_get");
    return norn_dl_result_(call(self_, info));
}
NORN_DL_INLINE_ norn_status norn_dl_self_release_(struct norn_self *self_, struct norn_data data) {
    __typeof__(&norn_self_release) call;
    if (!norn_dl_find_(NORN_DL_norn_self_release_, &call)) return NORN_DL_UNSUPPORTED_("norn_self_release");
    return norn_dl_result_(call(self_, data));
}
NORN_DL_INLINE_ int32_t norn_dl_self_fail_(struct norn_self *self_, int32_t code, const char *message) {
    __typeof__(&norn_self_fail) call;
    if (!norn_dl_find_(NORN_DL_norn_self_fail_, &call)) return code;
    return call(self_, code, message);
}
NORN_DL_INLINE_ norn_status norn_dl_self_hold_(struct norn_self *self_, uint32_t k) {
    __typeof__(&norn_self_hold) call;
    if (!norn_dl_find_(NORN_DL_norn_self_hold_, &call)) return NORN_DL_UNSUPPORTED_("norn_self_hold");
    return norn_dl_result_(call(self_, k));
}
NORN_DL_INLINE_ norn_status norn_dl_unhold_(struct norn_runtime *rt, struct norn_token token, uint32_t k) {
    __typeof__(&norn_unhold) call;
    if (!norn_dl_find_(NORN_DL_norn_unhold_, &call)) return NORN_DL_UNSUPPORTED_("norn_unhold");
    return norn_dl_result_(call(rt, token, k));
}
NORN_DL_INLINE_ norn_status norn_dl_self_provider_(struct norn_self *self_, int32_t kind, void **handle) {
    __typeof__(&norn_self_provider) call;
    if (!norn_dl_find_(NORN_DL_norn_self_provider_, &call)) return NORN_DL_UNSUPPORTED_("norn_self_provider");
    return norn_dl_result_(call(self_, kind, handle));
}
NORN_DL_INLINE_ norn_status norn_dl_data_register_(struct norn_runtime *rt, const struct norn_data_desc *desc,
        struct norn_data *data) {
    __typeof__(&norn_data_register) call;
    if (!norn_dl_find_(NORN_DL_norn_data_register_, &call)) return NORN_DL_UNSUPPORTED_("norn_data_register");
    return norn_dl_result_(call(rt, desc, data));
}
NORN_DL_INLINE_ norn_status norn_dl_data_alloc_(struct norn_runtime *rt, const struct norn_data_desc *desc,
        struct norn_data *data) {
    __typeof__(&norn_data_alloc) call;
    if (!norn_dl_find_(NORN_DL_norn_data_alloc_, &call)) return NORN_DL_UNSUPPORTED_("norn_data_alloc");
    return norn_dl_result_(call(rt, desc, data));
}
NORN_DL_INLINE_ norn_status norn_dl_data_split_(struct norn_runtime *rt, struct norn_data data,
        const struct norn_piece *pieces, uint64_t count, struct norn_data *parts) {
    __typeof__(&norn_data_split) call;
    if (!norn_dl_find_(NORN_DL_norn_data_split_, &call)) return NORN_DL_UNSUPPORTED_("norn_data_split");
    return norn_dl_result_(call(rt, data, pieces, count, parts));
}
NORN_DL_INLINE_ norn_status norn_dl_data_join_(struct norn_runtime *rt, struct norn_data data) {
    __typeof__(&norn_data_join) call;
    if (!norn_dl_find_(NORN_DL_norn_data_join_, &call)) return NORN_DL_UNSUPPORTED_("norn_data_join");
    return norn_dl_result_(call(rt, data));
}
NORN_DL_INLINE_ norn_status norn_dl_data_rebind_(struct norn_runtime *rt, struct norn_data data, void *ptr,
        uint64_t bytes) {
    __typeof__(&norn_data_rebind) call;
    if (!norn_dl_find_(NORN_DL_norn_data_rebind_, &call)) return NORN_DL_UNSUPPORTED_("norn_data_rebind");
    return norn_dl_result_(call(rt, data, ptr, bytes));
}
NORN_DL_INLINE_ norn_status norn_dl_data_unregister_(struct norn_runtime *rt, struct norn_data data) {
    __typeof__(&norn_data_unregister) call;
    if (!norn_dl_find_(NORN_DL_norn_data_unregister_, &call)) return NORN_DL_UNSUPPORTED_("norn_data_unregister");
    return norn_dl_result_(call(rt, data));
}
NORN_DL_INLINE_ norn_status norn_dl_data_acquire_(struct norn_runtime *rt, const struct norn_access *accesses,
        uint64_t count, int64_t timeout_ns, struct norn_token *hold) {
    __typeof__(&norn_data_acquire) call;
    if (!norn_dl_find_(NORN_DL_norn_data_acquire_, &call)) return NORN_DL_UNSUPPORTED_("norn_data_acquire");
    return norn_dl_result_(call(rt, accesses, count, timeout_ns, hold));
}
NORN_DL_INLINE_ norn_status norn_dl_data_release_(struct norn_runtime *rt, struct norn_token hold) {
    __typeof__(&norn_data_release) call;
    if (!norn_dl_find_(NORN_DL_norn_data_release_, &call)) return NORN_DL_UNSUPPORTED_("norn_data_release");
    return norn_dl_result_(call(rt, hold));
}
NORN_DL_INLINE_ norn_status norn_dl_data_pointer_(struct norn_runtime *rt, struct norn_data data, void **ptr,
        uint64_t *bytes) {
    __typeof__(&norn_data_pointer) call;
    if (!norn_dl_find_(NORN_DL_norn_data_pointer_, &call)) return NORN_DL_UNSUPPORTED_("norn_data_pointer");
    return norn_dl_result_(call(rt, data, ptr, bytes));
}
NORN_DL_INLINE_ norn_status norn_dl_reserve_(struct norn_runtime *rt, const struct norn_access *accesses,
        uint64_t count, uint64_t *slots) {
    __typeof__(&norn_reserve) call;
    if (!norn_dl_find_(NORN_DL_norn_reserve_, &call)) return NORN_DL_UNSUPPORTED_("norn_reserve");
    return norn_dl_result_(call(rt, accesses, count, slots));
}
NORN_DL_INLINE_ norn_status norn_dl_reserve_abandon_(struct norn_runtime *rt, uint64_t slot) {
    __typeof__(&norn_reserve_abandon) call;
    if (!norn_dl_find_(NORN_DL_norn_reserve_abandon_, &call)) return NORN_DL_UNSUPPORTED_("norn_reserve_abandon");
    return norn_dl_result_(call(rt, slot));
}
NORN_DL_INLINE_ norn_status norn_dl_device_open_(struct norn_runtime *rt, const struct norn_device_config *config,
        struct norn_place *place) {
    __typeof__(&norn_device_open) call;
    if (!norn_dl_find_(NORN_DL_norn_device_open_, &call)) return NORN_DL_UNSUPPORTED_("norn_device_open");
    return norn_dl_result_(call(rt, config, place));
}
NORN_DL_INLINE_ norn_status norn_dl_device_get_(struct norn_runtime *rt, struct norn_place place,
        struct norn_device_info *info) {
    __typeof__(&norn_device_get) call;
    if (!norn_dl_find_(NORN_DL_norn_device_get_, &call)) return NORN_DL_UNSUPPORTED_("norn_device_get");
    return norn_dl_result_(call(rt, place, info));
}
NORN_DL_INLINE_ norn_status norn_dl_copy_(struct norn_runtime *rt, const struct norn_slice *from,
        const struct norn_slice *to, const struct norn_task *how, struct norn_token *token_or_null) {
    __typeof__(&norn_copy) call;
    if (!norn_dl_find_(NORN_DL_norn_copy_, &call)) return NORN_DL_UNSUPPORTED_("norn_copy");
    return norn_dl_result_(call(rt, from, to, how, token_or_null));
}
NORN_DL_INLINE_ norn_status norn_dl_fill_(struct norn_runtime *rt, const struct norn_slice *to, const void *element,
        const struct norn_task *how, struct norn_token *token_or_null) {
    __typeof__(&norn_fill) call;
    if (!norn_dl_find_(NORN_DL_norn_fill_, &call)) return NORN_DL_UNSUPPORTED_("norn_fill");
    return norn_dl_result_(call(rt, to, element, how, token_or_null));
}
NORN_DL_INLINE_ norn_status norn_dl_stream_record_(struct norn_runtime *rt, struct norn_place device, void *stream,
        struct norn_token *token) {
    __typeof__(&norn_stream_record) call;
    if (!norn_dl_find_(NORN_DL_norn_stream_record_, &call)) return NORN_DL_UNSUPPORTED_("norn_stream_record");
    return norn_dl_result_(call(rt, device, stream, token));
}
NORN_DL_INLINE_ norn_status norn_dl_stream_wait_(struct norn_runtime *rt, struct norn_token token,
        struct norn_place device, void *stream, int64_t timeout_ns) {
    __typeof__(&norn_stream_wait) call;
    if (!norn_dl_find_(NORN_DL_norn_stream_wait_, &call)) return NORN_DL_UNSUPPORTED_("norn_stream_wait");
    return norn_dl_result_(call(rt, token, device, stream, timeout_ns));
}
NORN_DL_INLINE_ norn_status norn_dl_module_load_(struct norn_runtime *rt, struct norn_place device, const void *image,
        uint64_t bytes, const char *options, struct norn_module *module) {
    __typeof__(&norn_module_load) call;
    if (!norn_dl_find_(NORN_DL_norn_module_load_, &call)) return NORN_DL_UNSUPPORTED_("norn_module_load");
    return norn_dl_result_(call(rt, device, image, bytes, options, module));
}
NORN_DL_INLINE_ norn_status norn_dl_kernel_get_(struct norn_runtime *rt, struct norn_module module, const char *name,
        struct norn_kernel *kernel) {
    __typeof__(&norn_kernel_get) call;
    if (!norn_dl_find_(NORN_DL_norn_kernel_get_, &call)) return NORN_DL_UNSUPPORTED_("norn_kernel_get");
    return norn_dl_result_(call(rt, module, name, kernel));
}
NORN_DL_INLINE_ norn_status norn_dl_launch_(struct norn_runtime *rt, const struct norn_launch_desc *launch,
        const struct norn_task *how, struct norn_token *token_or_null) {
    __typeof__(&norn_launch) call;
    if (!norn_dl_find_(NORN_DL_norn_launch_, &call)) return NORN_DL_UNSUPPORTED_("norn_launch");
    return norn_dl_result_(call(rt, launch, how, token_or_null));
}
NORN_DL_INLINE_ norn_status norn_dl_group_open_(struct norn_runtime *rt, const char *name, struct norn_group parent,
        struct norn_group *group, struct norn_token *done) {
    __typeof__(&norn_group_open) call;
    if (!norn_dl_find_(NORN_DL_norn_group_open_, &call)) return NORN_DL_UNSUPPORTED_("norn_group_open");
    return norn_dl_result_(call(rt, name, parent, group, done));
}
NORN_DL_INLINE_ norn_status norn_dl_group_close_(struct norn_runtime *rt, struct norn_group group) {
    __typeof__(&norn_group_close) call;
    if (!norn_dl_find_(NORN_DL_norn_group_close_, &call)) return NORN_DL_UNSUPPORTED_("norn_group_close");
    return norn_dl_result_(call(rt, group));
}
NORN_DL_INLINE_ norn_status norn_dl_mpi_register_(const void *table) {
    __typeof__(&norn_mpi_register) call;
    if (!norn_dl_find_(NORN_DL_norn_mpi_register_, &call)) return NORN_DL_UNSUPPORTED_("norn_mpi_register");
    return norn_dl_result_(call(table));
}
NORN_DL_INLINE_ norn_status norn_dl_version_(int32_t *major, int32_t *minor, int32_t *patch) {
    __typeof__(&norn_version) call;
    if (!norn_dl_find_(NORN_DL_norn_version_, &call)) return NORN_DL_UNSUPPORTED_("norn_version");
    return norn_dl_result_(call(major, minor, patch));
}
NORN_DL_INLINE_ const char *norn_dl_status_name_(norn_status status) {
    __typeof__(&norn_status_name) call;
    if (norn_dl_find_(NORN_DL_norn_status_name_, &call)) return call(status);
    switch (status) {
        case NORN_OK: return "NORN_OK";
        case NORN_E_INVALID: return "NORN_E_INVALID";
        case NORN_E_STATE: return "NORN_E_STATE";
        case NORN_E_OVERLAP: return "NORN_E_OVERLAP";
        case NORN_E_UNCOVERED: return "NORN_E_UNCOVERED";
        case NORN_E_VERSION: return "NORN_E_VERSION";
        case NORN_E_CONFIG: return "NORN_E_CONFIG";
        case NORN_E_THREAD: return "NORN_E_THREAD";
        case NORN_E_RESOURCE: return "NORN_E_RESOURCE";
        case NORN_E_MEMORY: return "NORN_E_MEMORY";
        case NORN_E_UNSUPPORTED: return "NORN_E_UNSUPPORTED";
        case NORN_E_FORKED: return "NORN_E_FORKED";
        case NORN_E_CLOSED: return "NORN_E_CLOSED";
        case NORN_E_SYSTEM: return "NORN_E_SYSTEM";
        case NORN_E_TIMEOUT: return "NORN_E_TIMEOUT";
        case NORN_E_WOULD_DEADLOCK: return "NORN_E_WOULD_DEADLOCK";
        case NORN_E_DEADLOCK: return "NORN_E_DEADLOCK";
        case NORN_E_TOO_LATE: return "NORN_E_TOO_LATE";
        case NORN_E_TASK_FAILED: return "NORN_E_TASK_FAILED";
        case NORN_E_PROPAGATED: return "NORN_E_PROPAGATED";
        case NORN_E_CANCELLED: return "NORN_E_CANCELLED";
        case NORN_E_ORDER: return "NORN_E_ORDER";
        case NORN_E_TAGS: return "NORN_E_TAGS";
        case NORN_E_MPI: return "NORN_E_MPI";
        case NORN_E_MISMATCH: return "NORN_E_MISMATCH";
        case NORN_E_DEVICE: return "NORN_E_DEVICE";
        case NORN_E_INTERNAL: return "NORN_E_INTERNAL";
        default: return "NORN_E_UNKNOWN";
    }
}
NORN_DL_INLINE_ const char *norn_dl_last_error_(void) {
    __typeof__(&norn_last_error) call;
    if (NORN_DL_SAID_.text) return NORN_DL_SAID_.text;
    return norn_dl_find_(NORN_DL_norn_last_error_, &call) ? call() : "";
}
NORN_DL_INLINE_ norn_status norn_dl_open_version_(int32_t header_version, const struct norn_config *config,
        struct norn_runtime **rt) {
    __typeof__(&norn_open_version) call;
    if (!norn_dl_find_(NORN_DL_norn_open_version_, &call)) return NORN_DL_UNSUPPORTED_("norn_open");
    return norn_dl_result_(call(norn_dl_header_version_(header_version), config, rt));
}
NORN_DL_INLINE_ norn_status norn_dl_close_(struct norn_runtime *rt) {
    __typeof__(&norn_close) call;
    if (!norn_dl_find_(NORN_DL_norn_close_, &call)) return NORN_DL_UNSUPPORTED_("norn_close");
    return norn_dl_result_(call(rt));
}
NORN_DL_INLINE_ norn_status norn_dl_close_with_(struct norn_runtime *rt, uint32_t flags, int64_t timeout_ns) {
    __typeof__(&norn_close_with) call;
    if (!norn_dl_find_(NORN_DL_norn_close_with_, &call)) return NORN_DL_UNSUPPORTED_("norn_close_with");
    return norn_dl_result_(call(rt, flags, timeout_ns));
}
NORN_DL_INLINE_ norn_status norn_dl_drain_(struct norn_runtime *rt, int64_t timeout_ns) {
    __typeof__(&norn_drain) call;
    if (!norn_dl_find_(NORN_DL_norn_drain_, &call)) return NORN_DL_UNSUPPORTED_("norn_drain");
    return norn_dl_result_(call(rt, timeout_ns));
}
NORN_DL_INLINE_ norn_status norn_dl_progress_(struct norn_runtime *rt) {
    __typeof__(&norn_progress) call;
    if (!norn_dl_find_(NORN_DL_norn_progress_, &call)) return NORN_DL_UNSUPPORTED_("norn_progress");
    return norn_dl_result_(call(rt));
}
NORN_DL_INLINE_ norn_status norn_dl_seal_(struct norn_runtime *rt) {
    __typeof__(&norn_seal) call;
    if (!norn_dl_find_(NORN_DL_norn_seal_, &call)) return NORN_DL_UNSUPPORTED_("norn_seal");
    return norn_dl_result_(call(rt));
}
NORN_DL_INLINE_ norn_status norn_dl_stats_(struct norn_runtime *rt, struct norn_runtime_stats *stats) {
    __typeof__(&norn_stats) call;
    if (!norn_dl_find_(NORN_DL_norn_stats_, &call)) return NORN_DL_UNSUPPORTED_("norn_stats");
    return norn_dl_result_(call(rt, stats));
}
NORN_DL_INLINE_ norn_status norn_dl_dump_(struct norn_runtime *rt, int32_t format, norn_write_fn write_fn, void *arg) {
    __typeof__(&norn_dump) call;
    if (!norn_dl_find_(NORN_DL_norn_dump_, &call)) return NORN_DL_UNSUPPORTED_("norn_dump");
    return norn_dl_result_(call(rt, format, write_fn, arg));
}
NORN_DL_INLINE_ norn_status norn_dl_intern_(struct norn_runtime *rt, const char *text, const char **name) {
    __typeof__(&norn_intern) call;
    if (!norn_dl_find_(NORN_DL_norn_intern_, &call)) return NORN_DL_UNSUPPORTED_("norn_intern");
    return norn_dl_result_(call(rt, text, name));
}
NORN_DL_INLINE_ norn_status norn_dl_submit_(struct norn_runtime *rt, const struct norn_task *task,
        struct norn_token *token_or_null) {
    __typeof__(&norn_submit) call;
    if (!norn_dl_find_(NORN_DL_norn_submit_, &call)) return NORN_DL_UNSUPPORTED_("norn_submit");
    return norn_dl_result_(call(rt, task, token_or_null));
}
NORN_DL_INLINE_ norn_status norn_dl_submit_many_(struct norn_runtime *rt, const struct norn_task *tasks,
        uint64_t count, struct norn_token *tokens_or_null) {
    __typeof__(&norn_submit_many) call;
    if (!norn_dl_find_(NORN_DL_norn_submit_many_, &call)) return NORN_DL_UNSUPPORTED_("norn_submit_many");
    return norn_dl_result_(call(rt, tasks, count, tokens_or_null));
}
NORN_DL_INLINE_ norn_status norn_dl_declare_(struct norn_runtime *rt, const char *name, struct norn_token *token) {
    __typeof__(&norn_declare) call;
    if (!norn_dl_find_(NORN_DL_norn_declare_, &call)) return NORN_DL_UNSUPPORTED_("norn_declare");
    return norn_dl_result_(call(rt, name, token));
}
NORN_DL_INLINE_ norn_status norn_dl_promise_(struct norn_runtime *rt, const char *name, struct norn_token *token) {
    __typeof__(&norn_promise) call;
    if (!norn_dl_find_(NORN_DL_norn_promise_, &call)) return NORN_DL_UNSUPPORTED_("norn_promise");
    return norn_dl_result_(call(rt, name, token));
}
NORN_DL_INLINE_ norn_status norn_dl_fulfill_(struct norn_runtime *rt, struct norn_token promise) {
    __typeof__(&norn_fulfill) call;
    if (!norn_dl_find_(NORN_DL_norn_fulfill_, &call)) return NORN_DL_UNSUPPORTED_("norn_fulfill");
    return norn_dl_result_(call(rt, promise));
}
NORN_DL_INLINE_ norn_status norn_dl_fail_(struct norn_runtime *rt, struct norn_token promise, int32_t code,
        const char *message) {
    __typeof__(&norn_fail) call;
    if (!norn_dl_find_(NORN_DL_norn_fail_, &call)) return NORN_DL_UNSUPPORTED_("norn_fail");
    return norn_dl_result_(call(rt, promise, code, message));
}
NORN_DL_INLINE_ norn_status norn_dl_edge_(struct norn_runtime *rt, struct norn_token before, struct norn_token after) {
    __typeof__(&norn_edge) call;
    if (!norn_dl_find_(NORN_DL_norn_edge_, &call)) return NORN_DL_UNSUPPORTED_("norn_edge");
    return norn_dl_result_(call(rt, before, after));
}
NORN_DL_INLINE_ norn_status norn_dl_start_(struct norn_runtime *rt, struct norn_token token) {
    __typeof__(&norn_start) call;
    if (!norn_dl_find_(NORN_DL_norn_start_, &call)) return NORN_DL_UNSUPPORTED_("norn_start");
    return norn_dl_result_(call(rt, token));
}
NORN_DL_INLINE_ norn_status norn_dl_await_(struct norn_runtime *rt, struct norn_token token, int64_t timeout_ns) {
    __typeof__(&norn_await) call;
    if (!norn_dl_find_(NORN_DL_norn_await_, &call)) return NORN_DL_UNSUPPORTED_("norn_await");
    return norn_dl_result_(call(rt, token, timeout_ns));
}
NORN_DL_INLINE_ norn_status norn_dl_await_all_(struct norn_runtime *rt, const struct norn_token *tokens,
        uint64_t count, int64_t timeout_ns) {
    __typeof__(&norn_await_all) call;
    if (!norn_dl_find_(NORN_DL_norn_await_all_, &call)) return NORN_DL_UNSUPPORTED_("norn_await_all");
    return norn_dl_result_(call(rt, tokens, count, timeout_ns));
}
NORN_DL_INLINE_ norn_status norn_dl_await_any_(struct norn_runtime *rt, const struct norn_token *tokens,
        uint64_t count, int64_t timeout_ns, uint64_t *index) {
    __typeof__(&norn_await_any) call;
    if (!norn_dl_find_(NORN_DL_norn_await_any_, &call)) return NORN_DL_UNSUPPORTED_("norn_await_any");
    return norn_dl_result_(call(rt, tokens, count, timeout_ns, index));
}
NORN_DL_INLINE_ norn_status norn_dl_test_(struct norn_runtime *rt, struct norn_token token, int32_t *done) {
    __typeof__(&norn_test) call;
    if (!norn_dl_find_(NORN_DL_norn_test_, &call)) return NORN_DL_UNSUPPORTED_("norn_test");
    return norn_dl_result_(call(rt, token, done));
}
NORN_DL_INLINE_ norn_status norn_dl_cancel_(struct norn_runtime *rt, struct norn_token token) {
    __typeof__(&norn_cancel) call;
    if (!norn_dl_find_(NORN_DL_norn_cancel_, &call)) return NORN_DL_UNSUPPORTED_("norn_cancel");
    return norn_dl_result_(call(rt, token));
}
NORN_DL_INLINE_ norn_status norn_dl_error_(struct norn_runtime *rt, struct norn_token token,
        struct norn_error_info *info) {
    __typeof__(&norn_error) call;
    if (!norn_dl_find_(NORN_DL_norn_error_, &call)) return NORN_DL_UNSUPPORTED_("norn_error");
    return norn_dl_result_(call(rt, token, info));
}
NORN_DL_INLINE_ norn_status norn_dl_on_complete_(struct norn_runtime *rt, struct norn_token token,
        norn_complete_fn fn_, void *arg) {
    __typeof__(&norn_on_complete) call;
    if (!norn_dl_find_(NORN_DL_norn_on_complete_, &call)) return NORN_DL_UNSUPPORTED_("norn_on_complete");
    return norn_dl_result_(call(rt, token, fn_, arg));
}
NORN_DL_INLINE_ norn_status norn_dl_eventfd_(struct norn_runtime *rt, struct norn_token token, int32_t *fd) {
    __typeof__(&norn_eventfd) call;
    if (!norn_dl_find_(NORN_DL_norn_eventfd_, &call)) return NORN_DL_UNSUPPORTED_("norn_eventfd");
    return norn_dl_result_(call(rt, token, fd));
}
NORN_DL_INLINE_ norn_status norn_dl_world_attach_f_(struct norn_runtime *rt, int32_t comm,
        const struct norn_world_config *config_or_null, struct norn_world **world) {
    __typeof__(&norn_world_attach_f) call;
    if (!norn_dl_find_(NORN_DL_norn_world_attach_f_, &call)) return NORN_DL_UNSUPPORTED_("norn_world_attach_f");
    return norn_dl_result_(call(rt, comm, config_or_null, world));
}
NORN_DL_INLINE_ norn_status norn_dl_world_get_(struct norn_world *world, struct norn_world_info *info) {
    __typeof__(&norn_world_get) call;
    if (!norn_dl_find_(NORN_DL_norn_world_get_, &call)) return NORN_DL_UNSUPPORTED_("norn_world_get");
    return norn_dl_result_(call(world, info));
}
NORN_DL_INLINE_ norn_status norn_dl_world_flush_(struct norn_world *world, int64_t timeout_ns) {
    __typeof__(&norn_world_flush) call;
    if (!norn_dl_find_(NORN_DL_norn_world_flush_, &call)) return NORN_DL_UNSUPPORTED_("norn_world_flush");
    return norn_dl_result_(call(world, timeout_ns));
}
NORN_DL_INLINE_ norn_status norn_dl_world_fail_(struct norn_world *world, int32_t code, const char *message) {
    __typeof__(&norn_world_fail) call;
    if (!norn_dl_find_(NORN_DL_norn_world_fail_, &call)) return NORN_DL_UNSUPPORTED_("norn_world_fail");
    return norn_dl_result_(call(world, code, message));
}
NORN_DL_INLINE_ norn_status norn_dl_world_detach_(struct norn_world *world, int64_t timeout_ns) {
    __typeof__(&norn_world_detach) call;
    if (!norn_dl_find_(NORN_DL_norn_world_detach_, &call)) return NORN_DL_UNSUPPORTED_("norn_world_detach");
    return norn_dl_result_(call(world, timeout_ns));
}
NORN_DL_INLINE_ norn_status norn_dl_world_lane_(struct norn_world *world, struct norn_world **lane) {
    __typeof__(&norn_world_lane) call;
    if (!norn_dl_find_(NORN_DL_norn_world_lane_, &call)) return NORN_DL_UNSUPPORTED_("norn_world_lane");
    return norn_dl_result_(call(world, lane));
}
NORN_DL_INLINE_ norn_status norn_dl_send_(struct norn_world *world, const struct norn_slice *from, int32_t peer,
        int64_t key, const struct norn_task *how_or_null, struct norn_token *token_or_null) {
    __typeof__(&norn_send) call;
    if (!norn_dl_find_(NORN_DL_norn_send_, &call)) return NORN_DL_UNSUPPORTED_("norn_send");
    return norn_dl_result_(call(world, from, peer, key, how_or_null, token_or_null));
}
NORN_DL_INLINE_ norn_status norn_dl_recv_(struct norn_world *world, const struct norn_slice *to, int32_t peer,
        int64_t key, const struct norn_task *how_or_null, struct norn_token *token_or_null) {
    __typeof__(&norn_recv) call;
    if (!norn_dl_find_(NORN_DL_norn_recv_, &call)) return NORN_DL_UNSUPPORTED_("norn_recv");
    return norn_dl_result_(call(world, to, peer, key, how_or_null, token_or_null));
}
NORN_DL_INLINE_ norn_status norn_dl_barrier_(struct norn_world *world, const struct norn_task *how_or_null,
        struct norn_token *token_or_null) {
    __typeof__(&norn_barrier) call;
    if (!norn_dl_find_(NORN_DL_norn_barrier_, &call)) return NORN_DL_UNSUPPORTED_("norn_barrier");
    return norn_dl_result_(call(world, how_or_null, token_or_null));
}
NORN_DL_INLINE_ norn_status norn_dl_bcast_(struct norn_world *world, const struct norn_slice *buffer, int32_t root,
        const struct norn_task *how_or_null, struct norn_token *token_or_null) {
    __typeof__(&norn_bcast) call;
    if (!norn_dl_find_(NORN_DL_norn_bcast_, &call)) return NORN_DL_UNSUPPORTED_("norn_bcast");
    return norn_dl_result_(call(world, buffer, root, how_or_null, token_or_null));
}
NORN_DL_INLINE_ norn_status norn_dl_reduce_(struct norn_world *world, const struct norn_slice *from_or_null,
        const struct norn_slice *to_or_null, norn_op op, int32_t root, const struct norn_task *how_or_null,
        struct norn_token *token_or_null) {
    __typeof__(&norn_reduce) call;
    if (!norn_dl_find_(NORN_DL_norn_reduce_, &call)) return NORN_DL_UNSUPPORTED_("norn_reduce");
    return norn_dl_result_(call(world, from_or_null, to_or_null, op, root, how_or_null, token_or_null));
}
NORN_DL_INLINE_ norn_status norn_dl_allreduce_(struct norn_world *world, const struct norn_slice *from_or_null,
        const struct norn_slice *to, norn_op op, const struct norn_task *how_or_null,
        struct norn_token *token_or_null) {
    __typeof__(&norn_allreduce) call;
    if (!norn_dl_find_(NORN_DL_norn_allreduce_, &call)) return NORN_DL_UNSUPPORTED_("norn_allreduce");
    return norn_dl_result_(call(world, from_or_null, to, op, how_or_null, token_or_null));
}
NORN_DL_INLINE_ norn_status norn_dl_gather_(struct norn_world *world, const struct norn_slice *from_or_null,
        const struct norn_slice *to_or_null, const uint64_t *counts_or_null, int32_t root,
        const struct norn_task *how_or_null, struct norn_token *token_or_null) {
    __typeof__(&norn_gather) call;
    if (!norn_dl_find_(NORN_DL_norn_gather_, &call)) return NORN_DL_UNSUPPORTED_("norn_gather");
    return norn_dl_result_(call(world, from_or_null, to_or_null, counts_or_null, root, how_or_null, token_or_null));
}
NORN_DL_INLINE_ norn_status norn_dl_scatter_(struct norn_world *world, const struct norn_slice *from_or_null,
        const struct norn_slice *to_or_null, const uint64_t *counts_or_null, int32_t root,
        const struct norn_task *how_or_null, struct norn_token *token_or_null) {
    __typeof__(&norn_scatter) call;
    if (!norn_dl_find_(NORN_DL_norn_scatter_, &call)) return NORN_DL_UNSUPPORTED_("norn_scatter");
    return norn_dl_result_(call(world, from_or_null, to_or_null, counts_or_null, root, how_or_null, token_or_null));
}
NORN_DL_INLINE_ norn_status norn_dl_allgather_(struct norn_world *world, const struct norn_slice *from_or_null,
        const struct norn_slice *to, const uint64_t *counts_or_null, const struct norn_task *how_or_null,
        struct norn_token *token_or_null) {
    __typeof__(&norn_allgather) call;
    if (!norn_dl_find_(NORN_DL_norn_allgather_, &call)) return NORN_DL_UNSUPPORTED_("norn_allgather");
    return norn_dl_result_(call(world, from_or_null, to, counts_or_null, how_or_null, token_or_null));
}
NORN_DL_INLINE_ norn_status norn_dl_alltoall_(struct norn_world *world, const struct norn_slice *from_or_null,
        const uint64_t *send_counts_or_null, const struct norn_slice *to, const uint64_t *recv_counts_or_null,
        const struct norn_task *how_or_null, struct norn_token *token_or_null) {
    __typeof__(&norn_alltoall) call;
    if (!norn_dl_find_(NORN_DL_norn_alltoall_, &call)) return NORN_DL_UNSUPPORTED_("norn_alltoall");
    return norn_dl_result_(call(world, from_or_null, send_counts_or_null, to, recv_counts_or_null, how_or_null, token_or_null));
}
/* Generated to here. */

NORN_DL_INLINE_ norn_status norn_dl_open_(const norn_config *config, norn_runtime **rt) {
    return norn_dl_open_version_(NORN_HEADER_VERSION, config, rt);
}

NORN_DL_END_

/* Generated from here (tools/dl_header.py): their names. */
#define norn_self_get norn_dl_self_get_
#define norn_self_release norn_dl_self_release_
#define norn_self_fail norn_dl_self_fail_
#define norn_self_hold norn_dl_self_hold_
#define norn_unhold norn_dl_unhold_
#define norn_self_provider norn_dl_self_provider_
#define norn_data_register norn_dl_data_register_
#define norn_data_alloc norn_dl_data_alloc_
#define norn_data_split norn_dl_data_split_
#define norn_data_join norn_dl_data_join_
#define norn_data_rebind norn_dl_data_rebind_
#define norn_data_unregister norn_dl_data_unregister_
#define norn_data_acquire norn_dl_data_acquire_
#define norn_data_release norn_dl_data_release_
#define norn_data_pointer norn_dl_data_pointer_
#define norn_reserve norn_dl_reserve_
#define norn_reserve_abandon norn_dl_reserve_abandon_
#define norn_device_open norn_dl_device_open_
#define norn_device_get norn_dl_device_get_
#define norn_copy norn_dl_copy_
#define norn_fill norn_dl_fill_
#define norn_stream_record norn_dl_stream_record_
#define norn_stream_wait norn_dl_stream_wait_
#define norn_module_load norn_dl_module_load_
#define norn_kernel_get norn_dl_kernel_get_
#define norn_launch norn_dl_launch_
#define norn_group_open norn_dl_group_open_
#define norn_group_close norn_dl_group_close_
#define norn_mpi_register norn_dl_mpi_register_
#define norn_version norn_dl_version_
#define norn_status_name norn_dl_status_name_
#define norn_last_error norn_dl_last_error_
#define norn_open_version norn_dl_open_version_
#define norn_close norn_dl_close_
#define norn_close_with norn_dl_close_with_
#define norn_drain norn_dl_drain_
#define norn_progress norn_dl_progress_
#define norn_seal norn_dl_seal_
#define norn_stats norn_dl_stats_
#define norn_dump norn_dl_dump_
#define norn_intern norn_dl_intern_
#define norn_submit norn_dl_submit_
#define norn_submit_many norn_dl_submit_many_
#define norn_declare norn_dl_declare_
#define norn_promise norn_dl_promise_
#define norn_fulfill norn_dl_fulfill_
#define norn_fail norn_dl_fail_
#define norn_edge norn_dl_edge_
#define norn_start norn_dl_start_
#define norn_await norn_dl_await_
#define norn_await_all norn_dl_await_all_
#define norn_await_any norn_dl_await_any_
#define norn_test norn_dl_test_
#define norn_cancel norn_dl_cancel_
#define norn_error norn_dl_error_
#define norn_on_complete norn_dl_on_complete_
#define norn_eventfd norn_dl_eventfd_
#define norn_world_attach_f norn_dl_world_attach_f_
#define norn_world_get norn_dl_world_get_
#define norn_world_flush norn_dl_world_flush_
#define norn_world_fail norn_dl_world_fail_
#define norn_world_detach norn_dl_world_detach_
#define norn_world_lane norn_dl_world_lane_
#define norn_send norn_dl_send_
#define norn_recv norn_dl_recv_
#define norn_barrier norn_dl_barrier_
#define norn_bcast norn_dl_bcast_
#define norn_reduce norn_dl_reduce_
#define norn_allreduce norn_dl_allreduce_
#define norn_gather norn_dl_gather_
#define norn_scatter norn_dl_scatter_
#define norn_allgather norn_dl_allgather_
#define norn_alltoall norn_dl_alltoall_
#define norn_open norn_dl_open_
/* Generated to here. */

#endif /* NORN_DL_H */
