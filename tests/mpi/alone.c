// Under MPI_THREAD_SERIALIZED, between a flush and the next call into norn, the application alone is in MPI, while messages and a
// collective are under way, and while bodies declare further ones. This program stands in front of MPI, as a profiler
// does, and counts threads that are inside it at once, of norn's and its own.
//
//   alone ROUNDS
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "check.h"

enum { EDGES = 4, LATE = 2, LONG_MESSAGE = 1 << 16, OWN_CALLS = 20 };

// --- in front of MPI ---------------------------------------------------------

static atomic_int inside, calls, overlaps;
static _Thread_local int depth; // an MPI may call itself by these names

static void enter(void) {
    if (depth++ > 0) return;
    atomic_fetch_add(&calls, 1);
    if (atomic_fetch_add(&inside, 1) != 0) atomic_fetch_add(&overlaps, 1);
}

static int leave(int result) {
    if (--depth == 0) atomic_fetch_sub(&inside, 1);
    return result;
}

#define IN_FRONT(name, parameters, ...)                                                                                \
    int MPI_##name parameters {                                                                                        \
        enter();                                                                                                       \
        return leave(PMPI_##name(__VA_ARGS__));                                                                        \
    }

IN_FRONT(Isend, (const void *from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request),
         from, count, type, to, tag, comm, request)
IN_FRONT(Irecv, (void *to, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request), to,
         count, type, from, tag, comm, request)
IN_FRONT(Testsome, (int count, MPI_Request requests[], int *ended, int which[], MPI_Status statuses[]), count, requests,
         ended, which, statuses)
IN_FRONT(Iprobe, (int from, int tag, MPI_Comm comm, int *found, MPI_Status *status), from, tag, comm, found, status)
IN_FRONT(Iallreduce,
         (const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request),
         from, to, count, type, op, comm, request)
IN_FRONT(Pack, (const void *from, int count, MPI_Datatype type, void *to, int size_of_to, int *at, MPI_Comm comm), from,
         count, type, to, size_of_to, at, comm)
IN_FRONT(Cancel, (MPI_Request *request), request)
IN_FRONT(Allreduce, (const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), from, to,
         count, type, op, comm)
IN_FRONT(Barrier, (MPI_Comm comm), comm)
IN_FRONT(Sendrecv,
         (const void *from, int sent, MPI_Datatype sent_type, int dest, int sent_tag, void *to, int received,
          MPI_Datatype received_type, int source, int received_tag, MPI_Comm comm, MPI_Status *status),
         from, sent, sent_type, dest, sent_tag, to, received, received_type, source, received_tag, comm, status)

// --- what norn does -----------------------------------------------------------

static norn_runtime *rt;
static norn_world *world;
static int left, right;
static int64_t sent[EDGES][LONG_MESSAGE], received[EDGES][LONG_MESSAGE], checked[EDGES];
static int64_t late_sent[LATE], late_received[LATE];
static norn_token never;
static norn_type type_of_mpi;
static atomic_int late_declared;

static void spin(int64_t microseconds) {
    struct timespec begun, now;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begun.tv_sec) * 1000000 + (now.tv_nsec - begun.tv_nsec) / 1000 < microseconds);
}

static int32_t check_message(norn_self *self, void *arg) {
    int64_t edge = (int64_t)(intptr_t)arg;
    (void)self;
    spin(300);
    checked[edge] = received[edge][LONG_MESSAGE - 1];
    return 0;
}

static int32_t fill_message(norn_self *self, void *arg) {
    int64_t edge = (int64_t)(intptr_t)arg;
    (void)self;
    spin(300);
    for (int at = 0; at < LONG_MESSAGE; at++) sent[edge][at]++;
    return 0;
}

// Most often comes back when the flush is over.
static int32_t declare_late(norn_self *self, void *arg) {
    int late = (int)(intptr_t)arg;
    norn_slice from = norn_slice_at(&late_sent[late], NORN_I64, 1), to = norn_slice_at(&late_received[late], NORN_I64, 1);
    (void)self;
    if (norn_await(rt, never, 3000000) != NORN_E_TIMEOUT) return 1;
    if (late % 2 == 1) from.type = to.type = type_of_mpi;
    if (norn_recv(world, &to, left, EDGES + late, NULL, NULL) != NORN_OK) return 2;
    if (norn_send(world, &from, right, EDGES + late, NULL, NULL) != NORN_OK) return 3;
    atomic_fetch_add(&late_declared, 1);
    return 0;
}

static norn_token submit(norn_task_fn run, int arg, norn_token after) {
    norn_task task = NORN_TASK_INIT;
    norn_token token;
    task.run = run;
    task.arg = (void *)(intptr_t)arg;
    task.after = &after;
    task.after_count = after.id != 0;
    OK(norn_submit(rt, &task, &token));
    return token;
}

static void begin_round(int64_t *sum, norn_token *summed) {
    norn_token none = {0};
    for (int edge = 0; edge < EDGES; edge++) {
        norn_slice to = norn_slice_at(received[edge], NORN_I64, LONG_MESSAGE), from = to;
        norn_task how = NORN_TASK_INIT;
        norn_token came, filled = submit(fill_message, edge, none);
        OK(norn_recv(world, &to, left, edge, NULL, &came));
        submit(check_message, edge, came);
        from.ptr = sent[edge];
        how.after = &filled;
        how.after_count = 1;
        OK(norn_send(world, &from, right, edge, &how, NULL));
    }
    for (int late = 0; late < LATE; late++) late_sent[late]++, submit(declare_late, late, none);
    norn_slice all = norn_slice_at(sum, NORN_I64, 1);
    OK(norn_allreduce(world, NULL, &all, NORN_SUM, NULL, summed));
}

static void own_calls(int round) {
    for (int call = 0; call < OWN_CALLS; call++) {
        int64_t mine = rank + call, all = 0, from_left = -1;
        CHECK(MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(all == (int64_t)size * (size - 1) / 2 + (int64_t)size * call);
        CHECK(MPI_Sendrecv(&mine, 1, MPI_INT64_T, right, round, &from_left, 1, MPI_INT64_T, left, round, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(from_left == left + call);
        // One rank lets the others wait, inside MPI.
        if (call % size == rank) spin(500);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    }
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 20, provided;
    norn_config config = NORN_CONFIG_INIT;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (provided == MPI_THREAD_MULTIPLE) {
        if (rank == 0) printf("alone: left out, this MPI gives more than was asked for\n");
        MPI_Finalize();
        return 0;
    }
    CHECK(provided == MPI_THREAD_SERIALIZED);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    config.workers = 2;
    OK(norn_open(&config, &rt));
    OK(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world));
    OK(norn_promise(rt, "never", &never));
    type_of_mpi = norn_type_of_mpi(MPI_INT64_T);
    int before = 0, meanwhile = 0;
    for (int round = 1; round <= rounds; round++) {
        int64_t sum = rank;
        norn_token summed;
        begin_round(&sum, &summed);
        OK(norn_world_flush(world, -1));
        before = atomic_load(&calls);
        own_calls(round);
        meanwhile += atomic_load(&calls) - before - 3 * OWN_CALLS;
        OK(norn_await(rt, summed, -1));
        CHECK(sum == (int64_t)size * (size - 1) / 2);
        // The promise is never fulfilled, so nothing drains.
        while (atomic_load(&late_declared) < round * LATE) OK(norn_progress(rt));
        norn_world_info info = NORN_WORLD_INFO_INIT;
        do {
            OK(norn_progress(rt));
            OK(norn_world_get(world, &info));
        } while (info.live != 0);
        for (int edge = 0; edge < EDGES; edge++) CHECK(received[edge][0] == round && received[edge][LONG_MESSAGE - 1] == round);
        for (int late = 0; late < LATE; late++) CHECK(late_received[late] == round);
    }
    OK(norn_cancel(rt, never));
    OK(norn_drain(rt, -1));
    for (int edge = 0; edge < EDGES; edge++) CHECK(checked[edge] == rounds);
    OK(norn_close(rt));
    CHECK(meanwhile == 0);
    CHECK(atomic_load(&overlaps) == 0);
    CHECK(atomic_load(&calls) > rounds * 3 * OWN_CALLS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("alone: %d ranks, %d rounds: ok\n", size, rounds);
    MPI_Finalize();
    return 0;
}
