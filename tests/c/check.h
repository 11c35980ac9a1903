/*
 * What every test in this directory needs: checks that print where they failed and end the process with 1,
 * and short names for the calls a test makes again and again.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#ifndef NORN_TESTS_CHECK_H
#define NORN_TESTS_CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <norn.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MILLISECOND ((int64_t)1000000)
#define SECOND ((int64_t)1000000000)
#define FOREVER ((int64_t)-1)
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The result that ctest shows as skipped. */
#define SKIPPED 77

static inline _Noreturn void check_end(void) {
    fflush(stdout);
    fflush(stderr);
    _exit(1); /* not exit: the check may have failed inside a task */
}

static inline void check_condition(int holds, const char *file, int line, const char *text) {
    if (holds) return;
    fprintf(stderr, "%s:%d: not true: %s (norn's last text here: \"%s\")\n", file, line, text, norn_last_error());
    check_end();
}

static inline void check_status(norn_status got, norn_status expected, const char *file, int line, const char *text) {
    if (got == expected) return;
    fprintf(stderr, "%s:%d: %s gave %s (%d), expected %s; norn says: \"%s\"\n", file, line, text, norn_status_name(got),
            (int)got, norn_status_name(expected), norn_last_error());
    check_end();
}

static inline void check_equal(long long got, long long expected, const char *file, int line, const char *text) {
    if (got == expected) return;
    fprintf(stderr, "%s:%d: %s is %lld, expected %lld\n", file, line, text, got, expected);
    check_end();
}

static inline void check_says(const char *where, const char *part, const char *file, int line) {
    if (where != NULL && strstr(where, part) != NULL) return;
    fprintf(stderr, "%s:%d: \"%s\" does not say \"%s\"\n", file, line, where ? where : "(null)", part);
    check_end();
}

#define CHECK(condition) check_condition(!!(condition), __FILE__, __LINE__, #condition)
#define CHECK_STATUS(call, expected) check_status((call), (expected), __FILE__, __LINE__, #call)
#define CHECK_OK(call) CHECK_STATUS(call, NORN_OK)
#define CHECK_EQUAL(value, expected) check_equal((long long)(value), (long long)(expected), __FILE__, __LINE__, #value)
/* Some error, whichever: for calls that are wrong in more than one way. */
#define CHECK_ERROR(call) check_condition((call) < 0, __FILE__, __LINE__, #call " gives an error")
#define CHECK_TEXT(text, part) check_says((text), (part), __FILE__, __LINE__)
#define CHECK_SAYS(part) CHECK_TEXT(norn_last_error(), (part))

/* NORN_SOAK=1 asks for the full sizes. It is taken out of the environment before norn sees it,
   because norn refuses variables it does not know. */
static int check_soak;
__attribute__((constructor)) static void check_read_soak(void) {
    const char *soak = getenv("NORN_SOAK");
    check_soak = soak != NULL && soak[0] == '1';
    unsetenv("NORN_SOAK");
}
static inline int64_t scaled(int64_t quick, int64_t soak) { return check_soak ? soak : quick; }

static inline int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

static inline int64_t cpu_ns(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * SECOND + used.tv_nsec;
}

static inline void sleep_ns(int64_t ns) {
    struct timespec left = {ns / SECOND, ns % SECOND};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}
static inline void sleep_ms(int64_t ms) { sleep_ns(ms * MILLISECOND); }

static inline long thread_id(void) { return (long)syscall(SYS_gettid); }

static inline long resident_kib(void) {
    long pages_total = 0, pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    CHECK(statm != NULL && fscanf(statm, "%ld %ld", &pages_total, &pages) == 2);
    fclose(statm);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Polls until the condition holds; for what another thread must do. Fails after 20 s. */
#define WAIT_FOR(condition)                                                                   \
    do {                                                                                      \
        const int64_t until_ = now_ns() + 20 * SECOND;                                        \
        while (!(condition)) {                                                                \
            check_condition(now_ns() < until_, __FILE__, __LINE__, #condition " within 20 s"); \
            sleep_ns(100000);                                                                 \
        }                                                                                     \
    } while (0)

/* As WAIT_FOR, inside norn calls, for runtimes without workers. */
#define PROGRESS_UNTIL(rt, condition)                                                         \
    do {                                                                                      \
        const int64_t until_ = now_ns() + 20 * SECOND;                                        \
        while (!(condition)) {                                                                \
            check_condition(now_ns() < until_, __FILE__, __LINE__, #condition " within 20 s"); \
            CHECK_OK(norn_progress(rt));                                                      \
            sleep_ns(20000);                                                                  \
        }                                                                                     \
    } while (0)

/* Opening. The environment (NORN_MODE, NORN_WORKERS) wins over what is asked here. */
static inline norn_runtime *open_with(const norn_config *config) {
    norn_runtime *rt = NULL;
    CHECK_OK(norn_open(config, &rt));
    CHECK(rt != NULL);
    return rt;
}
static inline norn_runtime *open_plain(void) { return open_with(NULL); }
static inline norn_runtime *open_workers(int32_t workers) {
    norn_config config = NORN_CONFIG_INIT;
    config.workers = workers;
    return open_with(&config);
}
static inline norn_runtime_stats stats_of(norn_runtime *rt) {
    norn_runtime_stats stats = NORN_RUNTIME_STATS_INIT;
    CHECK_OK(norn_stats(rt, &stats));
    return stats;
}
/* Whether bodies run one at a time and only inside the calls of this program's own threads. */
static inline int runs_inside_calls_only(norn_runtime *rt) {
    norn_runtime_stats stats = stats_of(rt);
    return stats.workers == 0 || stats.mode == NORN_MODE_SYNC || stats.mode == NORN_MODE_SHUFFLE;
}

/* Submitting. */
static inline norn_task task_of(norn_task_fn run, void *arg) {
    norn_task task = NORN_TASK_INIT;
    task.run = run;
    task.arg = arg;
    return task;
}
static inline norn_token submit(norn_runtime *rt, const norn_task *task) {
    norn_token token = {0};
    CHECK_OK(norn_submit(rt, task, &token));
    CHECK(token.id != 0);
    return token;
}
static inline norn_token submit_run(norn_runtime *rt, norn_task_fn run, void *arg) {
    norn_task task = task_of(run, arg);
    return submit(rt, &task);
}
static inline norn_token submit_after(norn_runtime *rt, norn_task_fn run, void *arg, norn_token before) {
    norn_task task = task_of(run, arg);
    task.after = &before;
    task.after_count = 1;
    return submit(rt, &task);
}
static inline norn_token submit_on(norn_runtime *rt, norn_task_fn run, void *arg, norn_access access) {
    norn_task task = task_of(run, arg);
    task.accesses = &access;
    task.access_count = 1;
    return submit(rt, &task);
}
static inline norn_token submit_on_after(norn_runtime *rt, norn_task_fn run, void *arg, norn_access access,
                                         norn_token before) {
    norn_task task = task_of(run, arg);
    task.accesses = &access;
    task.access_count = 1;
    task.after = &before;
    task.after_count = 1;
    return submit(rt, &task);
}
static inline norn_token promised(norn_runtime *rt, const char *name) {
    norn_token token = {0};
    CHECK_OK(norn_promise(rt, name, &token));
    CHECK(token.id != 0);
    return token;
}
static inline norn_token declared(norn_runtime *rt, const char *name) {
    norn_token token = {0};
    CHECK_OK(norn_declare(rt, name, &token));
    CHECK(token.id != 0);
    return token;
}
static inline norn_data datum_of(norn_runtime *rt, void *ptr, uint64_t bytes, const char *name) {
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data data = {0};
    desc.ptr = ptr;
    desc.bytes = bytes;
    desc.name = name;
    CHECK_OK(norn_data_register(rt, &desc, &data));
    CHECK(data.id != 0);
    return data;
}
#define DATUM(rt, variable) datum_of((rt), &(variable), sizeof(variable), #variable)
static inline norn_data pure_name(norn_runtime *rt, const char *name) { return datum_of(rt, NULL, 0, name); }

static inline int is_done(norn_runtime *rt, norn_token token) {
    int32_t done = -1;
    CHECK_OK(norn_test(rt, token, &done));
    CHECK(done == 0 || done == 1);
    return done;
}
static inline norn_error_info record_of(norn_runtime *rt, norn_token token) {
    norn_error_info info = NORN_ERROR_INFO_INIT;
    CHECK_OK(norn_error(rt, token, &info));
    return info;
}

/* Bodies that many tests use. */
static inline int32_t body_nothing(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    return 0;
}
static inline int32_t body_count(norn_self *self, void *arg) {
    (void)self;
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}
/* Fails with the int that `arg` points to, or with 7. */
static inline int32_t body_fail(norn_self *self, void *arg) {
    return norn_self_fail(self, arg != NULL ? *(int *)arg : 7, "asked to fail");
}
static inline int32_t body_must_not_run(norn_self *self, void *arg) {
    (void)self;
    fprintf(stderr, "a body ran that must not: %s\n", arg != NULL ? (const char *)arg : "");
    check_end();
}
static inline void drop_count(void *arg) { atomic_fetch_add((atomic_int *)arg, 1); }

/* The order in which bodies ran: each step notes its number. */
typedef struct trace {
    atomic_int count;
    int ids[4096];
} trace;
typedef struct step {
    trace *trace;
    int id;
} step;
static inline int32_t body_step(norn_self *self, void *arg) {
    const step *mine = (const step *)arg;
    (void)self;
    mine->trace->ids[atomic_fetch_add(&mine->trace->count, 1)] = mine->id;
    return 0;
}

#endif
