/*
 * The program on the ranks of MPI.
 *
 * Rank 0 reads the problem and sends each rank its tiles; all solve; rank 0 collects the factor and the answer. Then
 * MPI is over, and rank 0, alone, runs the same kernels in a plain loop and compares: each rank's tiles of the factor,
 * and the answer.
 *
 * A failure on one rank reaches the others through the messages and collectives that depend on it, so all of them come to
 * the same end, and rank 0 says what happened.
 */
#include "distributed.h"

#include "complain.h"
#include "distributed_solver.h"
#include "options.h"
#include "problem.h"
#include "ranks.h"
#include "report.h"
#include "run.h"
#include "tile_device.h"

#include <cblas.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* One rank's side of the solution. */
struct session {
    struct ranks ranks;
    struct options options;
    struct problem problem; /* its numbers are on rank 0 only */
    struct distributed_system system;
    norn_runtime *rt;
    norn_world *world;
    int64_t key_limit;
    atomic_ullong busy_ns; /* in bodies of tasks, of all threads */
    struct tile_device tile_device;
    struct tile_device *device; /* --device: that one, or NULL where there is none */
    char no_device[DEVICE_WHY_BYTES];

    /* Rank 0 only. */
    struct answers answers;
    struct rank_account *accounts; /* of the run that is being measured */
    struct tiles factor;           /* collected */
};

/* A hook of norn's: begin and end of each body, on its thread. */
static void count_busy(void *arg, norn_token token, const char *name, int32_t worker, int32_t begin) {
    static _Thread_local double began;
    struct session *session = arg;
    (void)token, (void)name, (void)worker;
    if (begin)
        began = now();
    else
        atomic_fetch_add_explicit(&session->busy_ns, (unsigned long long)(1e9 * (now() - began)), memory_order_relaxed);
}

/* Other ranks wait for what this one cannot do any more: it fails for all of them, with the text of the last error here. */
static int give_up(struct session *session, norn_status status) {
    norn_world_fail(session->world, status, norn_last_error());
    return -1;
}

/* Waits until `after` is done on every rank. Fails on all of them with the same first cause where it has failed on any. */
static int meet(struct session *session, norn_token after) {
    norn_task how = NORN_TASK_INIT;
    norn_token all;
    how.name = "meet";
    how.after = &after;
    how.after_count = 1;
    norn_status status = norn_barrier(session->world, &how, &all);
    if (status != NORN_OK) {
        complain("%s: %s", norn_status_name(status), norn_last_error());
        return give_up(session, status);
    }
    status = norn_await(session->rt, all, -1);
    return status == NORN_OK ? 0 : explain(session->rt, all, status, &session->problem);
}

/* Declares messages and tasks; returns norn's status. */
typedef int32_t (*declare_fn)(struct session *session, struct part *part);

static int32_t declare_load(struct session *session, struct part *part) {
    return distributed_system_load(&session->system, part, session->problem.matrix, session->problem.rhs);
}

static int32_t declare_solution(struct session *session, struct part *part) {
    return distributed_system_solve(&session->system, part);
}

static int32_t declare_collection(struct session *session, struct part *part) {
    int first = session->ranks.rank == 0;
    return distributed_system_collect(&session->system, part, first ? &session->factor : NULL, session->answers.graph);
}

/* Declares one phase and waits for its end on all ranks. `seconds`, if wanted: until this rank's own part of it ended. */
static int run_phase(struct session *session, const char *name, declare_fn declare, struct part *part, double *seconds) {
    *part = (struct part){.execution = {.rt = session->rt, .device = session->device},
                          .traffic = {.world = session->world, .key_limit = session->key_limit}};
    norn_runtime_stats before = read_stats(session->rt);
    double start = now();
    norn_token done = {0};
    norn_status status = norn_group_open(session->rt, name, (norn_group){0}, &part->execution.group, &done);
    if (status == NORN_OK)
        status = declare(session, part);
    if (status != NORN_OK)
        give_up(session, status);
    norn_group_close(session->rt, part->execution.group);
    await_with_progress(session->rt, done, &before); /* how it ended, `meet` says */
    if (seconds != NULL)
        *seconds = now() - start;
    return meet(session, done);
}

/* Brings the accounts to rank 0. */
static int gather_accounts(struct session *session, struct rank_account *mine) {
    norn_slice from = norn_slice_at(mine, NORN_BYTE, sizeof *mine);
    norn_slice to = norn_slice_at(session->accounts, NORN_BYTE, sizeof *mine * (uint64_t)session->ranks.size);
    norn_task how = NORN_TASK_INIT;
    norn_token done;
    how.name = "gather accounts";
    norn_status status = norn_gather(session->world, &from, session->ranks.rank == 0 ? &to : NULL, NULL, 0, &how, &done);
    if (status == NORN_OK)
        status = norn_await(session->rt, done, -1);
    if (status == NORN_OK)
        return 0;
    complain("%s: %s", norn_status_name(status), norn_last_error());
    return give_up(session, status);
}

/* On rank 0: the run as a whole, if it is the best so far. */
static void keep_account(struct session *session, double seconds) {
    struct run run = {.seconds = seconds};
    struct answers *answers = &session->answers;
    for (int i = 0; i < session->ranks.size; i++) {
        run.tasks += session->accounts[i].tasks;
        run.edges += session->accounts[i].edges;
        run.flops += session->accounts[i].flops;
    }
    if (answers->graph_run.seconds == 0.0 || seconds < answers->graph_run.seconds)
        memcpy(answers->ranks, session->accounts, (size_t)session->ranks.size * sizeof *answers->ranks);
    keep_best(&answers->graph_run, &run);
}

static int run_measured(struct session *session) {
    const struct distribution *share = &session->system.share;
    struct rank_account mine = {.row = share->row, .col = share->col};
    struct part part;
    norn_runtime_stats before = read_stats(session->rt);
    double start = now();
    atomic_store(&session->busy_ns, 0);
    if (run_phase(session, "solve", declare_solution, &part, &mine.seconds) != 0)
        return -1;
    double seconds = now() - start;
    mine.tiles = distributed_system_tile_count(&session->system);
    mine.tasks = part.execution.kernels;
    mine.flops = part.execution.flops;
    mine.edges = read_stats(session->rt).edges - before.edges;
    mine.messages = part.traffic.messages;
    mine.bytes = part.traffic.bytes;
    mine.busy = 1e-9 * (double)atomic_load(&session->busy_ns);
    if (gather_accounts(session, &mine) != 0)
        return -1;
    if (session->ranks.rank == 0)
        keep_account(session, seconds);
    return 0;
}

/* One run, from the dense matrix to, after the last one, the collected answer. */
static int run_once(struct session *session, int last) {
    struct part part;
    struct distributed_system *system = &session->system;
    norn_status status = distributed_system_register(system, session->rt);
    if (status == NORN_OK && session->device != NULL)
        status = tile_device_register(session->device, session->rt, &system->factor);
    if (status == NORN_OK && session->device != NULL)
        status = tile_device_add(session->device, session->rt, &system->copies);
    if (status != NORN_OK)
        give_up(session, status);
    int result = run_phase(session, "load", declare_load, &part, NULL);
    if (result == 0)
        result = run_measured(session);
    if (result == 0 && last)
        result = run_phase(session, "collect", declare_collection, &part, NULL);
    if (session->device != NULL && tile_device_unregister(session->device, session->rt, &system->factor) != NORN_OK && result == 0)
        result = complain("%s", norn_last_error());
    if (session->device != NULL && tile_device_remove(session->rt, &system->copies) != NORN_OK && result == 0)
        result = complain("%s", norn_last_error());
    if (distributed_system_unregister(system, session->rt) != NORN_OK && result == 0)
        result = complain("%s", norn_last_error());
    return result;
}

static int run_all(struct session *session) {
    norn_world_info info = NORN_WORLD_INFO_INIT;
    session->world = ranks_attach(&session->ranks, session->rt);
    norn_world_get(session->world, &info);
    session->key_limit = info.key_limit;
    int result = 0;
    for (int i = 0; i < session->options.repeat && result == 0; i++)
        result = run_once(session, i + 1 == session->options.repeat);
    if (norn_world_detach(session->world, -1) != NORN_OK && result == 0)
        result = complain("%s", norn_last_error());
    return result;
}

/* Ranks that may run on the same cores share them out. */
static int open_runtime(struct session *session) {
    norn_config config = NORN_CONFIG_INIT;
    config.workers = session->options.workers;
    config.flags = NORN_CALLER_WORKS; /* main has nothing else to do: it is one of the workers */
    config.task_event = count_busy;
    config.task_event_arg = session;
    if (norn_open(&config, &session->rt) != NORN_OK)
        return complain("%s", norn_last_error());
    int workers = read_stats(session->rt).workers;
    if (config.workers < 0 && session->ranks.sharers > 1 && workers > 1) {
        norn_close(session->rt);
        session->rt = NULL;
        config.workers = workers > session->ranks.sharers ? workers / session->ranks.sharers : 1;
        if (norn_open(&config, &session->rt) != NORN_OK)
            return complain("%s", norn_last_error());
    }
    session->answers.workers = read_stats(session->rt).workers;
    return 0;
}

/* Each rank has its share of the devices of its machine, or does without. */
static void open_device(struct session *session) {
    if (!session->options.device)
        return;
    if (tile_device_open(&session->tile_device, session->rt, session->no_device) == 0)
        session->device = &session->tile_device;
    else
        session->answers.no_device = session->no_device;
    session->answers.device = session->device;
}

/* All memory of a rank, before anything that other ranks wait for. */
static int make_room(struct session *session) {
    const struct problem *problem = &session->problem;
    const struct distribution share = distribution_of(session->ranks.rank, session->ranks.size);
    struct answers *answers = &session->answers;
    int tile = session->options.tile, short_of = 0;
    if (distributed_system_create(&session->system, problem->rows, problem->cols, tile, &share) != 0)
        short_of = 1;
    if (session->ranks.rank == 0 && !short_of) {
        answers->rank_count = session->ranks.size;
        answers->grid_down = share.down;
        answers->grid_across = share.across;
        answers->graph = malloc((size_t)problem->cols * sizeof(double));
        answers->sequence = malloc((size_t)problem->cols * sizeof(double));
        answers->ranks = calloc((size_t)session->ranks.size, sizeof *answers->ranks);
        session->accounts = calloc((size_t)session->ranks.size, sizeof *session->accounts);
        short_of = answers->graph == NULL || answers->sequence == NULL || answers->ranks == NULL ||
                   session->accounts == NULL ||
                   tiles_create(&session->factor, problem->cols, problem->cols, tile, TILES_LOWER) != 0;
    }
    return short_of ? complain("no memory for the tiles of a matrix of %d x %d", problem->rows, problem->cols) : 0;
}

/* Everything but the sequence. Collective; afterwards the runtime is closed and no rank needs another one. */
static int solve_together(struct session *session) {
    int result = make_room(session);
    if (result == 0)
        result = open_runtime(session);
    if (result == 0)
        open_device(session);
    result = ranks_agree(&session->ranks, result);
    if (result == 0)
        result = run_all(session);
    /* A failure has been told; what norn_close gives is the same once more. */
    if (session->rt != NULL && norn_close(session->rt) != NORN_OK && result == 0)
        result = complain("%s", norn_last_error());
    distributed_system_free(&session->system);
    return ranks_agree(&session->ranks, result);
}

/* Whose tiles of the factor are not those of the sequence. */
static void compare_factor(struct session *session, const struct tiles *sequence) {
    const struct distribution share = distribution_of(0, session->ranks.size);
    for (int col = 0; col < sequence->across; col++) {
        for (int row = col; row < sequence->down; row++) {
            const struct tile *is = tiles_at(&session->factor, row, col), *should = tiles_at(sequence, row, col);
            if (memcmp(is->values, should->values, (size_t)tile_values(should) * sizeof(double)) != 0)
                session->answers.ranks[distribution_owner(&share, row, col)].unequal++;
        }
    }
}

/* Rank 0, alone. */
static int compare_and_report(struct session *session) {
    const struct problem *problem = &session->problem;
    struct answers *answers = &session->answers;
    struct tile_system system;
    int result = 0;
    if (tile_system_create(&system, problem->rows, problem->cols, session->options.tile) != 0)
        result = complain("no memory for the tiles of a matrix of %d x %d", problem->rows, problem->cols);
    for (int i = 0; i < session->options.repeat && result == 0 && !session->options.alone; i++)
        result = solve_in_sequence(&system, problem, answers->sequence, &answers->sequence_run);
    if (result == 0 && !session->options.alone)
        compare_factor(session, &system.factor);
    tile_system_free(&system);
    return result == 0 ? report(problem, answers, &session->options) : result;
}

/* Rank 0 reads the problem; the others learn its size. */
static int get_problem(struct session *session) {
    struct problem *problem = &session->problem;
    const struct options *options = &session->options;
    char why[WHY_BYTES];
    int size[2], result = 0;
    if (session->ranks.rank == 0) {
        if (problem_get(problem, options->matrix, options->rhs, options->size, why) != 0)
            result = complain("%s", why);
        else
            result = refuse_too_many_tasks(problem, options->tile);
    }
    if (ranks_agree(&session->ranks, result) != 0)
        return -1;
    size[0] = problem->rows;
    size[1] = problem->cols;
    ranks_share(size, (int)sizeof size);
    problem->rows = size[0];
    problem->cols = size[1];
    return 0;
}

static int run_session(struct session *session, int argc, char **argv) {
    if (ranks_agree(&session->ranks, parse_options(argc, argv, &session->options)) != 0) {
        ranks_end();
        return EXIT_USAGE;
    }
    if (session->options.help) {
        if (session->ranks.rank == 0)
            print_help();
        ranks_end();
        return EXIT_SUCCESS;
    }
    int result = get_problem(session);
    if (result == 0)
        result = solve_together(session);
    ranks_end();
    if (result == 0 && session->ranks.rank == 0)
        result = compare_and_report(session);
    return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int distributed_main(int argc, char **argv) {
    struct session session = {.problem = {.name = "the matrix"}};
    openblas_set_num_threads(1); /* the parallelism is that of the tasks and the ranks */
    ranks_start(&session.ranks, &argc, &argv);
    int status = run_session(&session, argc, argv);
    problem_free(&session.problem);
    tiles_free(&session.factor);
    free(session.accounts);
    free(session.answers.graph);
    free(session.answers.sequence);
    free(session.answers.ranks);
    return status;
}
