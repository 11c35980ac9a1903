/*
 * The cases of a test program. Each is run in a process of its own, by name; a case that holds for the stand-in alone
 * is left out on a real driver. Misuse is planted with the checker counting, and must be counted under its rule.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#ifndef NORN_STANDIN_CASE_H
#define NORN_STANDIN_CASE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "../standin.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct test_case {
    const char *name;
    void (*run)(void);
    int standin_only;
    const char *settings; /* of the environment, or "" */
} test_case;

#define FAIL(...)                                    \
    do {                                             \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
        fprintf(stderr, __VA_ARGS__);                \
        fputc('\n', stderr);                         \
        _exit(1);                                    \
    } while (0)

static inline void check_result(CUresult got, CUresult expected, const char *file, int line, const char *text) {
    const char *name = "unknown", *wanted = "unknown";
    if (got == expected) return;
    cuGetErrorName(got, &name);
    cuGetErrorName(expected, &wanted);
    fprintf(stderr, "%s:%d: %s gave %s (%d), expected %s (%d)\n", file, line, text, name, got, wanted, expected);
    _exit(1);
}
#define RESULT(call, expected) check_result((call), (expected), __FILE__, __LINE__, #call)
#define OK(call) RESULT(call, CUDA_SUCCESS)
#define CHECK(condition)                              \
    do {                                              \
        if (!(condition)) FAIL("not true: %s", #condition); \
    } while (0)
#define EQUAL(value, expected)                                                                               \
    do {                                                                                                     \
        const long long is_ = (long long)(value), wanted_ = (long long)(expected);                           \
        if (is_ != wanted_) FAIL("%s is %lld, expected %lld", #value, is_, wanted_);                         \
    } while (0)
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The stand-in's own functions; the program does not link them, so that it starts on a real driver too. */
#define STANDIN(name) ((__typeof__(&name))(uintptr_t)standin_symbol(#name))

/* After the misuse: the rule was broken so many times, and no other. */
static inline void expect_found(const char *rule, int times, const char *file, int line) {
    char last[600];
    const int of_rule = STANDIN(standin_violations)(rule), all = STANDIN(standin_violations)(NULL);
    if (of_rule == times && all == times) return;
    STANDIN(standin_last_violation)(last, sizeof last);
    fprintf(stderr, "%s:%d: rule %s was broken %d times of %d, expected %d; last: %s\n", file, line, rule, of_rule, all, times, last);
    _exit(1);
}
#define FOUND(rule, times) expect_found((rule), (times), __FILE__, __LINE__)
#define FOUND_NOTHING() expect_found("any", 0, __FILE__, __LINE__)
static inline void count_only(void) { STANDIN(standin_on_violation)(STANDIN_COUNT); }

static inline void sleep_ms(long ms) {
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* The primary context of a device, current on this thread. */
static inline CUcontext enter(CUdevice device) {
    CUcontext context;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    return context;
}
static inline void leave(CUdevice device) {
    OK(cuCtxSetCurrent(NULL));
    OK(cuDevicePrimaryCtxRelease_v2(device));
}
static inline CUstream new_stream(void) {
    CUstream stream;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}
static inline CUevent new_event(void) {
    CUevent event;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    return event;
}
static inline void end_stream(CUstream stream) {
    OK(cuStreamSynchronize(stream));
    OK(cuStreamDestroy_v2(stream));
}
static inline CUdeviceptr device_memory(size_t bytes) {
    CUdeviceptr address;
    OK(cuMemAlloc_v2(&address, bytes));
    return address;
}
static inline void *pinned_memory(size_t bytes) {
    void *address;
    OK(cuMemHostAlloc(&address, bytes, 0));
    return address;
}

#ifdef KERNELS_PTX
/* Kernels of ../../kernels.ptx. */
static inline CUmodule load_kernels(void) {
    CUmodule module;
    OK(cuModuleLoad(&module, KERNELS_PTX));
    return module;
}
static inline CUfunction kernel_of(CUmodule module, const char *name) {
    CUfunction function;
    OK(cuModuleGetFunction(&function, module, name));
    return function;
}
static inline CUresult launch(CUfunction function, CUstream stream, void **arguments) {
    return cuLaunchKernel(function, 32, 1, 1, 128, 1, 1, 0, stream, arguments, NULL);
}
static inline CUresult launch_spin(CUmodule module, CUstream stream, uint64_t ns) {
    void *arguments[] = {&ns};
    return cuLaunchKernel(kernel_of(module, "spin_ns"), 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
}
static inline CUresult launch_mix(CUmodule module, CUstream stream, CUdeviceptr x, uint64_t n, uint64_t key) {
    void *arguments[] = {&x, &n, &key};
    return launch(kernel_of(module, "mix_u64"), stream, arguments);
}
static inline CUresult launch_fill(CUmodule module, CUstream stream, CUdeviceptr x, uint64_t n, uint64_t value) {
    void *arguments[] = {&x, &n, &value};
    return launch(kernel_of(module, "fill_u64"), stream, arguments);
}
#endif

static inline int run_cases(int argc, char **argv, const test_case *cases, size_t count) {
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; i < count; ++i) puts(cases[i].name);
        return 0;
    }
    const int asks = argc == 3 && strcmp(argv[1], "settings") == 0;
    for (size_t i = 0; i < count && argc > 1; ++i) {
        if (strcmp(cases[i].name, argv[argc - 1]) != 0) continue;
        if (asks) {
            puts(cases[i].settings ? cases[i].settings : "");
            return 0;
        }
        int version;
        OK(cuDriverGetVersion(&version)); /* also loads it, for those who look for symbols */
        if (cases[i].standin_only && standin_symbol("standin_report") == NULL) return 77;
        cases[i].run();
        return 0;
    }
    fprintf(stderr, "usage: %s list | settings CASE | CASE\n", argv[0]);
    return 2;
}
#define CASES(...)                                                    \
    int main(int argc, char **argv) {                                 \
        static const test_case cases[] = {__VA_ARGS__};               \
        return run_cases(argc, argv, cases, COUNT_OF(cases));         \
    }
/* A case of any driver; of the stand-in; of the stand-in under settings. */
#define CASE(name) {#name, name, 0, NULL}
#define OWN(name) {#name, name, 1, NULL}
#define OWN_WITH(name, settings) {#name, name, 1, settings}

#endif
