/*
 * Solves a symmetric positive definite system, or a least-squares problem by its normal equations, by tiles: one norn
 * task for every BLAS or LAPACK call on a tile, ordered by norn through what each reads and writes.
 *
 *     cholesky                                              a built-in matrix whose answer is known exactly
 *     cholesky --matrix A.mtx --rhs b.mtx --tile 96         Matrix Market files
 *     cholesky --help
 *
 * Then it runs the same kernels in the same order in a plain loop, compares the time, and compares the two answers,
 * which must agree in every bit: norn keeps the order of the updates of each tile.
 *
 * The parts: matrix_market.c reads files, problem.c holds the dense problem and judges answers, tiles.c cuts it into
 * data of norn, tile_kernels.c has the bodies of the tasks, tile_solver.c submits them; here they are put together.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, isatty */

#include "matrix_market.h"
#include "problem.h"
#include "tile_solver.h"

#include <cblas.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_USAGE = 2 };

static const double AGREEMENT = 1e-9;       /* with DGELS, relative */
static const double BACKWARD_ERROR = 1e-12; /* of a positive definite system */
static const double MAX_TASKS = 2e7;
static const int64_t PROGRESS_NS = 100000000;

/* Every error of this program is one line. */
__attribute__((format(printf, 1, 2)))
static int complain(const char *format, ...) {
    va_list arguments;
    fputs("cholesky: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return -1;
}

/* Options. */

struct options {
    const char *matrix, *rhs, *output;
    int size, tile, workers, repeat;
    int size_given, check, help;
};

static void print_help(void) {
    puts("usage: cholesky [OPTION]...\n"
         "Solves A x = b for a symmetric positive definite A, or min ||A x - b|| for an A with more rows than columns.\n"
         "\n"
         "  --matrix FILE   A, in Matrix Market format; else the built-in matrix min(i, j)\n"
         "  --rhs FILE      b, likewise; else A times the vector of ones\n"
         "  --size N        order of the built-in matrix (2048)\n"
         "  --tile N        rows and columns of a tile (128)\n"
         "  --workers N     bodies that run at once (as many as there are cores)\n"
         "  --repeat N      run N times and give the best time (3)\n"
         "  --output FILE   write x, in Matrix Market format\n"
         "  --check         fail if the answer is not as good as it should be\n"
         "  --help          this text");
}

static int parse_int(const char *option, const char *text, int low, int high, int *number) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0')
        return complain("%s: '%s' is not a whole number", option, text);
    if (errno == ERANGE || value < low || value > high)
        return complain("%s: %s is not between %d and %d", option, text, low, high);
    *number = (int)value;
    return 0;
}

/* Takes one option with its value. */
static int parse_option(const char *option, const char *value, struct options *options) {
    const struct { const char *name; const char **text; int *number; int low, high; } known[] = {
        {"--matrix", &options->matrix, NULL, 0, 0},
        {"--rhs", &options->rhs, NULL, 0, 0},
        {"--output", &options->output, NULL, 0, 0},
        {"--size", NULL, &options->size, 1, 1 << 20},
        {"--tile", NULL, &options->tile, 1, 1 << 14},
        {"--workers", NULL, &options->workers, 0, 4096},
        {"--repeat", NULL, &options->repeat, 1, 1000},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(option, known[i].name) != 0)
            continue;
        if (value == NULL)
            return complain("%s needs a value", option);
        if (known[i].text != NULL) {
            *known[i].text = value;
            return 0;
        }
        options->size_given |= known[i].number == &options->size;
        return parse_int(option, value, known[i].low, known[i].high, known[i].number);
    }
    return complain("unknown option '%s' (try --help)", option);
}

static int parse_options(int argc, char **argv, struct options *options) {
    *options = (struct options){.size = 2048, .tile = 128, .workers = -1, .repeat = 3};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0)
            options->help = 1;
        else if (strcmp(argv[i], "--check") == 0)
            options->check = 1;
        else if (parse_option(argv[i], argv[i + 1], options) != 0) /* argv ends with a NULL */
            return -1;
        else
            i++;
    }
    if (options->matrix != NULL && options->size_given)
        return complain("--size is for the built-in matrix, not for --matrix");
    if (options->matrix == NULL && options->rhs != NULL)
        return complain("--rhs needs --matrix");
    return 0;
}

/* Running. */

struct run {
    double seconds;
    double flops;
    uint64_t tasks, edges;
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static norn_runtime_stats read_stats(norn_runtime *rt) {
    norn_runtime_stats stats = NORN_RUNTIME_STATS_INIT;
    norn_stats(rt, &stats);
    return stats;
}

/* Waits for `done`; on a terminal it looks up now and then to say how far things are. This thread is one of the workers
 * (NORN_CALLER_WORKS): it runs tasks meanwhile, and the await returns between two of them. */
static norn_status await_with_progress(norn_runtime *rt, norn_token done, const norn_runtime_stats *before) {
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

/* The first failure of the group, as the task that failed told it. */
static int explain(norn_runtime *rt, norn_token done, norn_status status, const struct problem *problem) {
    norn_error_info info = NORN_ERROR_INFO_INIT;
    if ((status != NORN_E_TASK_FAILED && status != NORN_E_PROPAGATED) || norn_error(rt, done, &info) != NORN_OK)
        return complain("%s: %s: %s", problem->name, norn_status_name(status), norn_last_error());
    return complain("%s: task %s failed: %s%s", problem->name, info.task, info.text,
                    problem_is_least_squares(problem) ? " A^T A (linearly dependent columns?)" : "");
}

/* One run as a graph. All tasks are members of one group, whose token completes when the last of them has and fails
 * with the first that failed. */
static int run_graph(norn_runtime *rt, struct tile_system *system, const struct problem *problem, struct run *run) {
    struct execution execution = {.rt = rt};
    norn_token done;
    norn_runtime_stats before = read_stats(rt);
    double start = now();

    norn_status status = norn_group_open(rt, "solve", (norn_group){0}, &execution.group, &done);
    if (status != NORN_OK)
        return complain("%s", norn_last_error());
    status = tile_system_solve(system, &execution);
    if (status != NORN_OK)
        complain("%s: %s", norn_status_name(status), norn_last_error());
    /* Also after an error: tasks submitted before it still use the tiles, and `done` tells when they no longer do. */
    norn_group_close(rt, execution.group);
    norn_status end = await_with_progress(rt, done, &before);
    run->seconds = now() - start;
    if (status != NORN_OK)
        return -1;
    if (end != NORN_OK)
        return explain(rt, done, end, problem);

    norn_runtime_stats after = read_stats(rt);
    run->tasks = after.submitted - before.submitted;
    run->edges = after.edges - before.edges;
    run->flops = execution.flops;
    return 0;
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

static void keep_best(struct run *best, const struct run *run) {
    if (best->seconds == 0.0 || run->seconds < best->seconds)
        *best = *run;
}

/* Loads the tiles, lends them to norn for the time of the run, and takes the answer out. */
static int solve_by_graph(norn_runtime *rt, struct tile_system *system, const struct problem *problem, double *x,
                          struct run *best) {
    struct run run = {0};
    tile_system_load(system, problem->matrix, problem->rhs);
    if (tile_system_register(system, rt) != NORN_OK)
        return complain("%s", norn_last_error());
    int result = run_graph(rt, system, problem, &run);
    if (tile_system_unregister(system, rt) != NORN_OK && result == 0)
        result = complain("%s", norn_last_error());
    if (result == 0) {
        keep_best(best, &run);
        tiles_store(&system->solution, x);
    }
    return result;
}

static int solve_in_sequence(struct tile_system *system, const struct problem *problem, double *x, struct run *best) {
    struct run run = {0};
    tile_system_load(system, problem->matrix, problem->rhs);
    if (run_sequence(system, problem, &run) != 0)
        return -1;
    keep_best(best, &run);
    tiles_store(&system->solution, x);
    return 0;
}

/* Reporting. */

struct answers {
    double *graph, *sequence;
    struct run graph_run, sequence_run;
    int workers;
    int equal; /* in every bit */
};

static double gflops(const struct run *run) {
    return run->flops / run->seconds * 1e-9;
}

static void print_report(const struct problem *problem, const struct answers *answers, const struct quality *quality,
                         int tile) {
    const struct run *graph = &answers->graph_run, *sequence = &answers->sequence_run;
    int least_squares = problem_is_least_squares(problem);
    printf("matrix      %s, %d x %d, %s\n", problem->name, problem->rows, problem->cols,
           least_squares ? "least squares by normal equations" : "symmetric positive definite");
    if (least_squares)
        printf("residual    ||b - A x|| = %.6e, ||A^T (b - A x)|| = %.3e\n", quality->residual, quality->gradient);
    else
        printf("residual    ||b - A x|| = %.6e, backward error %.3e\n", quality->residual, quality->backward_error);
    if (quality->from_dgels >= 0.0)
        printf("dgels       relative difference %.3e\n", quality->from_dgels);
    if (quality->from_known >= 0.0)
        printf("known       relative difference %.3e\n", quality->from_known);
    printf("graph       %d workers, tiles of %d, %llu tasks, %llu edges, %.4f s, %.2f GFLOP/s\n", answers->workers, tile,
           (unsigned long long)graph->tasks, (unsigned long long)graph->edges, graph->seconds, gflops(graph));
    printf("sequence    the same kernels in a loop, %.4f s, %.2f GFLOP/s\n", sequence->seconds, gflops(sequence));
    printf("ratio       %.2f\n", sequence->seconds / graph->seconds);
    printf("answers     %s\n", answers->equal ? "equal in every bit" : "differ");
}

/* --check. The comparisons are written so that a NaN does not pass. */
static int check(const struct problem *problem, const struct answers *answers, const struct quality *quality) {
    if (!answers->equal)
        return complain("check failed: the graph and the sequence give different answers");
    if (problem_is_least_squares(problem) && !(quality->from_dgels <= AGREEMENT))
        return complain("check failed: the answer differs from that of DGELS by more than %.0e", AGREEMENT);
    if (!problem_is_least_squares(problem) && !(quality->backward_error <= BACKWARD_ERROR))
        return complain("check failed: the backward error is more than %.0e", BACKWARD_ERROR);
    return 0;
}

static int report(const struct problem *problem, struct answers *answers, const struct options *options) {
    struct quality quality;
    char why[WHY_BYTES];
    if (problem_assess(problem, answers->graph, &quality, why) != 0)
        return complain("%s", why);
    answers->equal = memcmp(answers->graph, answers->sequence, (size_t)problem->cols * sizeof(double)) == 0;

    if (options->output != NULL && mm_write_vector(options->output, answers->graph, problem->cols, why, sizeof why) != 0)
        return complain("%s", why);
    print_report(problem, answers, &quality, options->tile);
    if (fflush(stdout) != 0 || ferror(stdout))
        return complain("cannot write the report: %s", strerror(errno));
    return options->check ? check(problem, answers, &quality) : 0;
}

/* Putting it together. */

static int solve(norn_runtime *rt, const struct problem *problem, const struct options *options, struct answers *answers) {
    struct tile_system system;
    int result = 0;
    if (tile_system_create(&system, problem->rows, problem->cols, options->tile) != 0)
        result = complain("no memory for the tiles of a matrix of %d x %d", problem->rows, problem->cols);
    for (int i = 0; i < options->repeat && result == 0; i++) {
        result = solve_by_graph(rt, &system, problem, answers->graph, &answers->graph_run);
        if (result == 0)
            result = solve_in_sequence(&system, problem, answers->sequence, &answers->sequence_run);
    }
    tile_system_free(&system);
    return result;
}

static int solve_with_runtime(const struct problem *problem, const struct options *options, struct answers *answers) {
    norn_config config = NORN_CONFIG_INIT;
    config.workers = options->workers;
    config.flags = NORN_CALLER_WORKS; /* main has nothing else to do: it is one of the workers */
    norn_runtime *rt;
    if (norn_open(&config, &rt) != NORN_OK)
        return complain("%s", norn_last_error());
    answers->workers = read_stats(rt).workers;
    int result = solve(rt, problem, options, answers);
    if (norn_close(rt) != NORN_OK && result == 0)
        result = complain("%s", norn_last_error());
    return result;
}

static int solve_and_report(const struct problem *problem, const struct options *options) {
    struct answers answers = {
        .graph = malloc((size_t)problem->cols * sizeof(double)),
        .sequence = malloc((size_t)problem->cols * sizeof(double)),
    };
    int result;
    if (answers.graph == NULL || answers.sequence == NULL)
        result = complain("no memory for the answer");
    else
        result = solve_with_runtime(problem, options, &answers);
    if (result == 0)
        result = report(problem, &answers, options);
    free(answers.graph);
    free(answers.sequence);
    return result;
}

static int run_problem(const struct problem *problem, const struct options *options) {
    double tasks = tile_system_task_estimate(problem->rows, problem->cols, options->tile);
    if (tasks > MAX_TASKS)
        return complain("--tile %d would make %.0f tasks; choose larger tiles", options->tile, tasks);
    return solve_and_report(problem, options);
}

int main(int argc, char **argv) {
    struct options options;
    if (parse_options(argc, argv, &options) != 0)
        return EXIT_USAGE;
    if (options.help) {
        print_help();
        return EXIT_SUCCESS;
    }

    /* The parallelism is that of the tasks. */
    openblas_set_num_threads(1);

    struct problem problem;
    char why[WHY_BYTES];
    int result = options.matrix != NULL ? problem_read(&problem, options.matrix, options.rhs, why)
                                        : problem_make_minij(&problem, options.size, why);
    if (result != 0) {
        complain("%s", why);
        return EXIT_FAILURE;
    }
    result = run_problem(&problem, &options);
    problem_free(&problem);
    return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
