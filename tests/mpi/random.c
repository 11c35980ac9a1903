// Random graphs over real ranks against a sequential oracle.
//
// A seed makes steps in one global order: tasks, messages by key and in order, sums over all ranks; some tasks fail. Every
// rank submits its own steps in an order of its own that keeps what the API gives a meaning (per datum, per key, per
// ordered pair, per lane). Whatever the mode and the number of tags, every datum ends with the value, or the failure, of
// the global order. In a further run one rank quits, leaves early, closes while what it waits for may wait for what it has
// not submitted, or cancels a step, in the middle of its submissions: then every datum of the others ends so, or failed, and
// nobody waits for ever.
//
//   random FIRST COUNT [disturbed]    seeds FIRST to FIRST + COUNT - 1, each in async, sync and shuffle, and once disturbed, if asked
#include <string.h>

#include "check.h"

enum { MOST_STEPS = 120, MOST_DATA = 5, MOST_ELEMENTS = 40, MOST_RANKS = 16, WINDOW = 8, FAR = 60 };
enum kind { TASK, MESSAGE, SUM };

struct step {
    enum kind kind;
    int rank, to; // of a task; of a message: its sender and its receiver
    int source, target, elements, fails;
    int64_t key;
};

static struct program {
    uint64_t seed;
    int steps, data, elements;
    uint64_t tags;
    struct step step[MOST_STEPS];
} program;

struct value {
    int failed;
    int64_t element[MOST_ELEMENTS];
};
static struct value expected[MOST_RANKS][MOST_DATA];
static int without_sums; // the steps that are sums are left out, and ranks submit far from the global order

// What one rank does at `before`: of its own steps as it submits them, or (LEAVES) of the global order.
enum { UNDISTURBED, QUITS, LEAVES, CANCELS, CLOSES, KINDS };
struct blow {
    int kind, rank, before;
};

static uint64_t next(uint64_t *state) { // splitmix64
    uint64_t mixed = *state += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return mixed ^ mixed >> 31;
}
static int below(uint64_t *state, int limit) { return (int)(next(state) % (uint64_t)limit); }

static int64_t mix(int step, int at, int64_t sum) {
    uint64_t mixed = ((uint64_t)sum + (uint64_t)step * 1009 + (uint64_t)at + 1) * 0x9e3779b97f4a7c15u;
    return (int64_t)(mixed ^ mixed >> 29);
}

static void make_program(uint64_t seed) {
    static const uint64_t tags[] = {1, 4, 64, 64, 0};
    uint64_t random = seed * 77 + (uint64_t)size;
    int count = 20 + below(&random, MOST_STEPS - 20), with_failures = below(&random, 2);
    program.seed = seed;
    program.steps = 0;
    program.data = 2 + below(&random, MOST_DATA - 1);
    program.elements = 1 + below(&random, MOST_ELEMENTS);
    program.tags = tags[below(&random, 5)];
    while (program.steps < count) {
        struct step step = {.kind = TASK};
        int chance = below(&random, 20);
        step.rank = below(&random, size);
        step.to = below(&random, size);
        step.source = below(&random, program.data);
        step.target = below(&random, program.data);
        step.elements = program.elements;
        step.key = NORN_KEY_ORDER;
        if (chance == 0) {
            step.kind = SUM;
        } else if (chance < 9) {
            step.fails = with_failures && below(&random, 12) == 0;
        } else {
            step.kind = MESSAGE;
            // The same datum at both ends: neither could go before the other.
            if (step.to == step.rank && step.target == step.source) step.target = (step.target + 1) % program.data;
            if (below(&random, 3) == 0) step.elements = below(&random, program.elements + 1);
            if (below(&random, 2)) step.key = below(&random, program.tags && program.tags < 8 ? (int)program.tags : 8);
        }
        program.step[program.steps++] = step;
    }
}

static void run_oracle(void) {
    memset(expected, 0, sizeof expected);
    for (int number = 0; number < program.steps; number++) {
        const struct step *step = &program.step[number];
        struct value *from = &expected[step->rank][step->source], *to = &expected[step->rank][step->target];
        struct value sum = {0};
        switch (step->kind) {
        case TASK:
            to->failed |= from->failed || step->fails;
            for (int at = 0; at < program.elements && !to->failed; at++) {
                int64_t own = to->element[at];
                to->element[at] = mix(number, at, (int64_t)((uint64_t)own + (uint64_t)from->element[at]));
            }
            break;
        case MESSAGE:
            to = &expected[step->to][step->target];
            to->failed = from->failed || (to->failed && step->elements < program.elements);
            memcpy(to->element, from->element, (size_t)step->elements * sizeof *to->element);
            break;
        case SUM:
            for (int of = 0; of < size && !without_sums; of++) {
                const struct value *part = &expected[of][step->source];
                sum.failed |= part->failed;
                for (int at = 0; at < program.elements; at++)
                    sum.element[at] = (int64_t)((uint64_t)sum.element[at] + (uint64_t)part->element[at]);
            }
            for (int of = 0; of < size && !without_sums; of++) expected[of][step->source] = sum;
            break;
        }
    }
}

static int takes_part(const struct step *step) {
    if (step->kind == SUM) return !without_sums;
    return step->rank == rank || (step->kind == MESSAGE && step->to == rank);
}

// The data of this rank that a step touches, as bits.
static unsigned touched(const struct step *step) {
    unsigned source = 1u << step->source, target = 1u << step->target;
    if (step->kind == SUM) return source;
    if (step->kind == TASK) return source | target;
    return (step->rank == rank ? source : 0) | (step->to == rank ? target : 0);
}

static int is_before(const struct step *first, const struct step *second) {
    if (touched(first) & touched(second)) return 1;
    if (first->kind != second->kind) return 0;
    if (first->kind == SUM) return 1;
    return first->kind == MESSAGE && first->rank == second->rank && first->to == second->to && first->key == second->key;
}

// The steps of this rank in an order of its own; how many.
static int order_steps(int *order) {
    int left[MOST_STEPS], count = 0, taken = 0;
    uint64_t random = program.seed * 131 + (uint64_t)rank;
    for (int number = 0; number < program.steps; number++)
        if (takes_part(&program.step[number])) left[count++] = number;
    while (count > 0) {
        int choices[FAR], found = 0, far = without_sums ? FAR : WINDOW, window = count < far ? count : far;
        for (int at = 0; at < window; at++) {
            int free = 1;
            for (int earlier = 0; earlier < at; earlier++)
                free &= !is_before(&program.step[left[earlier]], &program.step[left[at]]);
            if (free) choices[found++] = at;
        }
        int at = choices[below(&random, found)];
        order[taken++] = left[at];
        count--;
        memmove(left + at, left + at + 1, (size_t)(count - at) * sizeof *left);
    }
    return taken;
}

struct work {
    int step, fails;
    int64_t *from, *to;
};

static int32_t compute(norn_self *self, void *arg) {
    const struct work *work = arg;
    (void)self;
    if (work->fails) return work->step + 1;
    for (int at = 0; at < program.elements; at++)
        work->to[at] = mix(work->step, at, (int64_t)((uint64_t)work->to[at] + (uint64_t)work->from[at]));
    return 0;
}

static int32_t nothing(norn_self *self, void *arg) {
    (void)self, (void)arg;
    return 0;
}

static int32_t show(void *arg, const char *text, uint64_t bytes) {
    fwrite(text, 1, bytes, arg);
    return 0;
}

static norn_token submit(norn_runtime *rt, norn_world *world, int number, const norn_data *data,
                         int64_t (*memory)[MOST_ELEMENTS], struct work *work) {
    const struct step *step = &program.step[number];
    uint64_t elements = (uint64_t)step->elements;
    norn_task task = NORN_TASK_INIT;
    norn_access accesses[2] = {norn_update(data[step->target]), norn_read(data[step->source])};
    norn_slice slice;
    norn_token token = {0};
    switch (step->kind) {
    case TASK:
        *work = (struct work){number, step->fails, memory[step->source], memory[step->target]};
        task.run = compute;
        task.arg = work;
        task.accesses = accesses;
        task.access_count = step->source == step->target ? 1 : 2;
        OK(norn_submit(rt, &task, &token));
        break;
    case MESSAGE:
        if (step->rank == rank) {
            slice = norn_slice_of(data[step->source], NORN_I64, elements);
            OK(norn_send(world, &slice, step->to, step->key, NULL, &token));
        }
        if (step->to == rank) {
            slice = norn_slice_of(data[step->target], NORN_I64, elements);
            OK(norn_recv(world, &slice, step->rank, step->key, NULL, &token));
        }
        break;
    case SUM:
        slice = norn_slice_of(data[step->source], NORN_I64, elements);
        OK(norn_allreduce(world, NULL, &slice, NORN_SUM, NULL, &token));
        break;
    }
    return token;
}

static void run(int32_t mode, struct blow blow) {
    static int64_t memory[MOST_DATA][MOST_ELEMENTS];
    static struct work works[MOST_STEPS];
    norn_config config = NORN_CONFIG_INIT;
    norn_world_config world_config = NORN_WORLD_CONFIG_INIT;
    norn_runtime *rt;
    norn_world *world;
    norn_data data[MOST_DATA];
    int order[MOST_STEPS], count = order_steps(order);
    config.mode = mode;
    config.workers = mode == NORN_MODE_ASYNC ? 2 : 1;
    config.seed = program.seed;
    world_config.tag_limit = program.tags;
    world_config.verify = program.seed % 5 == 0;
    memset(memory, 0, sizeof memory);
    OK(norn_open(&config, &rt));
    OK(norn_world_attach(rt, MPI_COMM_WORLD, &world_config, &world));
    for (int at = 0; at < program.data; at++) {
        norn_data_desc desc = NORN_DATA_DESC_INIT;
        desc.ptr = memory[at];
        desc.bytes = (uint64_t)program.elements * sizeof **memory;
        OK(norn_data_register(rt, &desc, &data[at]));
    }
    if (blow.rank != rank) blow.kind = blow.kind == UNDISTURBED ? UNDISTURBED : KINDS; // another rank's
    for (int at = 0; at < count; at++) {
        // It takes part in all that comes before, whatever the order of its own submissions: what it waits for in its close
        // would else wait for what it never declares.
        if (blow.kind == LEAVES && order[at] >= blow.before % program.steps) continue;
        if ((blow.kind == QUITS || blow.kind == CLOSES) && at == blow.before % count) break;
        norn_token token = submit(rt, world, order[at], data, memory, &works[at]);
        if (blow.kind == CANCELS && at == blow.before % count) (void)norn_cancel(rt, token);
    }
    if (blow.kind == QUITS || blow.kind == LEAVES || blow.kind == CLOSES) {
        norn_status closed = norn_close_with(rt, blow.kind == QUITS ? NORN_CANCEL : NORN_DRAIN, 60000000000);
        CHECK(closed != NORN_E_TIMEOUT && closed != NORN_E_INTERNAL && closed != NORN_E_MPI);
        return;
    }
    for (int at = 0; at < program.data; at++) {
        const struct value *right = &expected[rank][at];
        norn_access access = norn_read(data[at]);
        norn_task task = NORN_TASK_INIT;
        norn_token token;
        task.run = nothing;
        task.accesses = &access;
        task.access_count = 1;
        OK(norn_submit(rt, &task, &token));
        norn_status ended = norn_await(rt, token, 60000000000);
        int is_right = right->failed ? ended == NORN_E_PROPAGATED
                                     : ended == NORN_OK && !memcmp(memory[at], right->element,
                                                                   (size_t)program.elements * sizeof **memory);
        if (is_right || (blow.kind != UNDISTURBED && ended == NORN_E_PROPAGATED)) continue;
        fprintf(stderr, "seed %llu, %d ranks, mode %d: datum %d of rank %d ended with %s (%s), expected %s\n",
                (unsigned long long)program.seed, size, (int)mode, at, rank, norn_status_name(ended),
                ended ? norn_last_error() : "another value", right->failed ? "a failure" : "a value");
        norn_dump(rt, NORN_DUMP_TEXT, show, stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    // What failed was looked at where it reached a datum; other failures are the close's to report.
    norn_status closed = norn_close(rt);
    CHECK(blow.kind != UNDISTURBED ? closed != NORN_E_TIMEOUT && closed != NORN_E_INTERNAL && closed != NORN_E_MPI
                                   : closed == NORN_OK || closed == NORN_E_TASK_FAILED || closed == NORN_E_PROPAGATED);
}

// The same on all ranks.
static struct blow draw_blow(void) {
    uint64_t random = program.seed * 991 + (uint64_t)size;
    struct blow blow = {.kind = 1 + below(&random, KINDS - 1)};
    blow.rank = below(&random, size);
    blow.before = below(&random, MOST_STEPS);
    return blow;
}

int main(int argc, char **argv) {
    static const int32_t modes[] = {NORN_MODE_ASYNC, NORN_MODE_SYNC, NORN_MODE_SHUFFLE};
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 0, count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size <= MOST_RANKS);
    for (uint64_t seed = first; seed < first + count; seed++) {
        make_program(seed);
        run_oracle();
        for (int at = 0; at < 3; at++) run(modes[at], (struct blow){.kind = UNDISTURBED});
        if (argc > 3) {
            struct blow blow = draw_blow();
            without_sums = blow.kind == CLOSES;
            if (without_sums) run_oracle();
            run(modes[seed % 3], blow);
            without_sums = 0;
        }
    }
    MPI_Finalize();
    if (rank == 0) printf("random: %llu graphs on %d ranks: right\n", (unsigned long long)count, size);
    return 0;
}
