/*
 * What a test can ask of the stand-in driver beyond the driver interface: kernels as host functions, planted errors,
 * what the checker found, and a hold on all device work. The real driver has none of these names, so a program that
 * is to run on both finds them with standin_symbol(), which gives NULL there.
 *
 * Every function may be called from any thread, except inside a host function or a kernel; none blocks on device work.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#ifndef NORN_STANDIN_H
#define NORN_STANDIN_H

#include "driver_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Kernels ---------------------------------------------------------------------------------------------------- */

/* One launch as its kernel sees it. `arguments[i]` points to a copy of argument i; an argument declared as a device
   pointer has been replaced by an address at which this process can read and write the device's memory. */
typedef struct standin_launch {
    const char *name;
    unsigned grid[3], block[3], shared_bytes;
    int device;
    void *const *arguments;
    size_t argument_count;
    const void *driver; /* the driver's own */
} standin_launch;

/* Tells the checker of `bytes` that a launch reads (writes = 0) or writes, at what argument `index` points to. */
typedef void (*standin_touch_fn)(void *to, size_t index, size_t offset, size_t bytes, int writes);

typedef struct standin_kernel {
    const char *name;
    /* A letter an argument: p device pointer, i 32 and l 64 bits of integer, f float, d double. */
    const char *parameters;
    /* The whole grid in one call, on a thread of the driver, while other streams run. CUDA_SUCCESS, or the error that
       the launch ends with; one that the
       real driver never recovers from (214, 700, 702, 710, 714 to 719) poisons the context. */
    CUresult (*run)(const standin_launch *launch);
    /* NULL, or: tells what the launch touches. Called inside the launch, where it may call
       nothing else of the driver; arguments are as the caller gave them. Without it
       the launch counts as using its pointers' allocations, with no opinion on which bytes and whether it writes. */
    void (*touches)(const standin_launch *launch, standin_touch_fn touch, void *to);
} standin_kernel;

/* Later modules that have an entry of this name run this function. Strings are copied. The last registration wins. */
void standin_register_kernel(const standin_kernel *kernel);
/* For long kernels: 1 once the launch's context is poisoned, when the kernel should return. */
int standin_stopped(const standin_launch *launch);

/* ---- Planted errors --------------------------------------------------------------------------------------------- */

/* The nth call of `symbol` from now on (1: the next) returns `code` and does nothing else. The version suffix may be
   left out. An error that the real driver never recovers from poisons the current context. */
void standin_fail_next(const char *symbol, int nth, CUresult code);
/* The nth launch of kernel `name` (NULL: of any) from now on ends with `code` when it would have run. */
void standin_fault_kernel(const char *name, int nth, CUresult code);

/* ---- The checker ------------------------------------------------------------------------------------------------ */

enum {
    STANDIN_ABORT = 0, /* print and abort (default) */
    STANDIN_EXIT = 1,  /* print, go on, and end the process with status 98 */
    STANDIN_COUNT = 2  /* print, go on, and leave the verdict to the program */
};
void standin_on_violation(int what);
/* Turns one rule off (allowed = 1) or on. Rules and the defaults are listed in README.md. */
void standin_allow(const char *rule, int allowed);
/* How often a rule (NULL: any) was broken so far. */
int standin_violations(const char *rule);
/* Copies the last line printed, cut to `bytes`; empty if there was none. */
void standin_last_violation(char *text, size_t bytes);
/* Reports what is still there (streams, events, memory, primary contexts) as a leak now, as the end of the process
   would, and gives the number of violations of any rule. What was reported here is not reported again. */
int standin_report(void);
/* Reports rule "stream-busy" unless all work on the stream has been seen complete by the host; gives 1 if it has. */
int standin_expect_idle(CUstream stream);
/* Host memory is about to be freed or reused: reports "host-memory-in-use" where queued work still touches it. */
void standin_expect_unused(const void *memory, size_t bytes);
/* Rule "stream-busy" by itself: once an event was recorded on a stream, the next work queued there must find all its
   work seen complete, or use an allocation that the work still under way there uses. It holds for a driver's client that
   leases idle streams, ends each lease with an event, and lets work go on a busy stream only if it depends on what is
   there. On by default for streams made by cuStreamCreateWithPriority; on = 1 is for all streams, 0 for none. Streams that
   the application owns can be taken out of it. */
void standin_lease_rule(int on);
void standin_exempt_stream(CUstream stream);

/* ---- Looking and holding ---------------------------------------------------------------------------------------- */

/* Calls of a symbol (NULL: all) that entered the driver so far. The version suffix may be left out. */
unsigned long long standin_calls(const char *symbol);
/* What lives: "streams", "events", "modules", "contexts" (retained or created), "pools", "device-bytes",
   "pinned-bytes", "registered-bytes", "pending" (operations not finished), "threads"; -1 for another word. */
long long standin_live(const char *what);
/* 1: no further operation starts on any device until 0. What has started goes on. */
void standin_hold(int on);
/* While held: lets so many operations start, in the order in which they became ready. Event records and waits take no
   time and pass by themselves once what precedes them is complete. */
void standin_let_through(int count);

#ifdef __cplusplus
}
#endif

#if !defined(STANDIN_DRIVER) && !defined(STANDIN_NO_SYMBOL)
#include <dlfcn.h>
/* The function's address in the stand-in, NULL on the real driver or where no driver was loaded. */
static inline void *standin_symbol(const char *name) {
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *symbol = NULL;
    if (driver != NULL) {
        symbol = dlsym(driver, name);
        dlclose(driver);
    }
    return symbol;
}
#endif
#endif
