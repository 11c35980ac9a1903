#define _POSIX_C_SOURCE 200809L /* clock_gettime, isatty */

#include "run.h"

#include "complain.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const double MAX_TASKS = 2e7;
static const int64_t PROGRESS_NS = 100000000;

double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

norn_runtime_stats read_stats(norn_runtime *rt) {
    norn_runtime_stats stats = NORN_RUNTIME_STATS_INIT;
    norn_stats(rt, &stats);
    return stats;
}

/* Where this thread is one of the workers (NORN_CALLER_WORKS) it runs tasks meanwhile, and the await returns between two
 * of them. */
norn_status await_with_progress(norn_runtime *rt, norn_token done, const norn_runtime_stats *before) {
    if (!isatty(STDERR_FILENO))
        return norn_await(rt, done, -1);

    int shown = 0;
    norn_status status;
    while ((status = norn_await(rt, done, PROGRESS_NS)) == NORN_E_TIMEOUT) {
        norn_runtime_stats stats = read_stats(rt);
        shown = fprintf(stderr, "\r%llu of %llu tasks", (unsigned long long)(stats.completed - before->completed),
                        (unsigned long long)(stats.submitted - before->submitted));
        fflush(stderr);
    }
    if (shown > 0)
        fprintf(stderr, "\r%*s\r", shown, "");
    return status;
}

int explain(norn_runtime *rt, norn_token done, norn_status status, const struct problem *problem) {
    norn_error_info info = NORN_ERROR_INFO_INIT;
    if ((status != NORN_E_TASK_FAILED && status != NORN_E_PROPAGATED) || norn_error(rt, done, &info) != NORN_OK)
        return complain("%s: %s: %s", problem->name, norn_status_name(status), norn_last_error());
    char where[32] = "";
    if (info.rank >= 0)
        snprintf(where, sizeof where, " on rank %d", (int)info.rank);
    if (info.task[0] == '\0') /* not a task's: a rank gave up */
        return complain("%s: failed%s: %s", problem->name, where, info.text);
    return complain("%s: task %s failed%s: %s%s", problem->name, info.task, where, info.text,
                    problem_is_least_squares(problem) ? " A^T A (linearly dependent columns?)" : "");
}

int refuse_too_many_tasks(const struct problem *problem, int tile) {
    double tasks = tile_system_task_estimate(problem->rows, problem->cols, tile);
    return tasks <= MAX_TASKS ? 0 : complain("--tile %d would make %.0f tasks; choose larger tiles", tile, tasks);
}

void keep_best(struct run *best, const struct run *run) {
    if (best->seconds == 0.0 || run->seconds < best->seconds)
        *best = *run;
}

/* The same kernels in a plain loop, without norn. */
static int run_sequence(struct tile_system *system, const struct problem *problem, struct run *run) {
    struct execution execution = {.rt = NULL};
    double start = now();
    int32_t code = tile_system_solve(system, &execution);
    run->seconds = now() - start;
    run->flops = execution.flops;
    return code == 0 ? 0 : complain("%s: kernel failed with code %d in sequence", problem->name, (int)code);
}

int solve_in_sequence(struct tile_system *system, const struct problem *problem, double *x, struct run *best) {
    struct run run = {0};
    tile_system_load(system, problem->matrix, problem->rhs);
    if (run_sequence(system, problem, &run) != 0)
        return -1;
    keep_best(best, &run);
    tiles_store(&system->solution, x);
    return 0;
}
