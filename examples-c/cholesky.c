/*
 * Solves a symmetric positive definite system, or a least-squares problem by its normal equations, by tiles: one norn
 * task for every BLAS or LAPACK call on a tile, ordered by norn through what each reads and writes.
 *
 *     cholesky                                              a built-in matrix whose answer is known exactly
 *     cholesky --matrix A.mtx --rhs b.mtx --tile 96         Matrix Market files
 *     cholesky --device                                     factorises on a GPU, where there is one with cuBLAS and cuSOLVER
 *     mpirun -n 4 cholesky                                  the same over four ranks, where it was built with MPI
 *     cholesky --help
 *
 * Then it runs the same kernels in the same order in a plain loop, compares the time, and compares the two answers,
 * which must agree in every bit: norn keeps the order of the updates of each tile.
 *
 * The parts: matrix_market.c reads files, problem.c holds the dense problem and judges answers, tiles.c cuts it into
 * data of norn, tile_device.c has the kernels for a device, tile_kernels.c has the bodies of the tasks, tile_solver.c submits them; here they are put together.
 * Over ranks: distribution.c says which rank owns which tile, tile_messages.c sends tiles, distributed_solver.c declares
 * the tasks and messages of one rank, distributed.c puts them together.
 */
#include "complain.h"
#ifdef CHOLESKY_MPI
#include "distributed.h"
#endif
#include "options.h"
#include "problem.h"
#include "report.h"
#include "run.h"
#include "tile_device.h"
#include "tile_solver.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

/* One run as a graph. All tasks are members of one group, whose token completes when the last of them has and fails
 * with the first that failed. */
static int run_graph(norn_runtime *rt, struct tile_system *system, struct tile_device *device,
                     const struct problem *problem, struct run *run) {
    struct execution execution = {.rt = rt, .device = device};
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

/* Loads the tiles, lends them to norn for the time of the run, and takes the answer out. */
static int solve_by_graph(norn_runtime *rt, struct tile_system *system, struct tile_device *device,
                          const struct problem *problem, double *x, struct run *best) {
    struct run run = {0};
    tile_system_load(system, problem->matrix, problem->rhs);
    if (tile_system_register(system, rt) != NORN_OK)
        return complain("%s", norn_last_error());
    int result = 0;
    if (device != NULL && tile_device_register(device, rt, &system->factor) != NORN_OK)
        result = complain("%s", norn_last_error());
    if (result == 0)
        result = run_graph(rt, system, device, problem, &run);
    if (device != NULL && tile_device_unregister(device, rt, &system->factor) != NORN_OK && result == 0)
        result = complain("%s", norn_last_error());
    if (tile_system_unregister(system, rt) != NORN_OK && result == 0)
        result = complain("%s", norn_last_error());
    if (result == 0) {
        keep_best(best, &run);
        tiles_store(&system->solution, x);
    }
    return result;
}

static int solve(norn_runtime *rt, struct tile_device *device, const struct problem *problem,
                 const struct options *options, struct answers *answers) {
    struct tile_system system;
    int result = 0;
    if (tile_system_create(&system, problem->rows, problem->cols, options->tile) != 0)
        result = complain("no memory for the tiles of a matrix of %d x %d", problem->rows, problem->cols);
    for (int i = 0; i < options->repeat && result == 0; i++) {
        result = solve_by_graph(rt, &system, device, problem, answers->graph, &answers->graph_run);
        if (result == 0 && !options->alone)
            result = solve_in_sequence(&system, problem, answers->sequence, &answers->sequence_run);
    }
    tile_system_free(&system);
    return result;
}

static int solve_with_runtime(const struct problem *problem, const struct options *options, struct answers *answers) {
    static struct tile_device device;
    static char why[DEVICE_WHY_BYTES];
    norn_config config = NORN_CONFIG_INIT;
    config.workers = options->workers;
    config.flags = NORN_CALLER_WORKS; /* main has nothing else to do: it is one of the workers */
    norn_runtime *rt;
    if (norn_open(&config, &rt) != NORN_OK)
        return complain("%s", norn_last_error());
    answers->workers = read_stats(rt).workers;
    if (options->device) {
        if (tile_device_open(&device, rt, why) == 0)
            answers->device = &device;
        else
            answers->no_device = why;
    }
    int result = solve(rt, answers->device != NULL ? &device : NULL, problem, options, answers);
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

/* Whether this process is one of several that a launcher has started, or is to be taken for one. */
static int is_rank(int argc, char **argv) {
    /* Of Open MPI; of MPICH and its kind, and of Slurm for them; of what goes by PMIx. */
    static const char *const launched[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK"};
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--mpi") == 0)
            return 1;
    for (size_t i = 0; i < sizeof launched / sizeof launched[0]; i++)
        if (getenv(launched[i]) != NULL)
            return 1;
    return 0;
}

static int run_on_ranks(int argc, char **argv) {
#ifdef CHOLESKY_MPI
    return distributed_main(argc, argv);
#else
    (void)argc, (void)argv;
    complain("was built without MPI, but is to run on ranks (--mpi, or a launcher's variables)");
    return EXIT_USAGE;
#endif
}

int main(int argc, char **argv) {
    if (is_rank(argc, argv))
        return run_on_ranks(argc, argv);

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
    if (problem_get(&problem, options.matrix, options.rhs, options.size, why) != 0) {
        complain("%s", why);
        return EXIT_FAILURE;
    }
    int result = refuse_too_many_tasks(&problem, options.tile);
    if (result == 0)
        result = solve_and_report(&problem, &options);
    problem_free(&problem);
    return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
