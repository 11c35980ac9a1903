// Two threads of the application wait for the same receives while a worker makes the passes: each receive ends once, both
// waits see it, and its message is there for both.
//
//   two_waiters MESSAGES
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

enum { BATCH = 500 };

static norn_runtime *rt;
static norn_token tokens[BATCH];
static int64_t memory[BATCH];
static int64_t base;
static atomic_int ends[BATCH];
static pthread_barrier_t both;

static void ended(void *arg, norn_token token, norn_status status) {
    (void)token;
    if (status == NORN_OK) atomic_fetch_add((atomic_int *)arg, 1);
}

static void wait_for_all(void) {
    for (int at = 0; at < BATCH; at++) {
        OK(norn_await(rt, tokens[at], -1));
        CHECK(memory[at] == base + at);
    }
}

static void *second(void *arg) {
    for (int64_t batches = *(int64_t *)arg; batches > 0; batches--) {
        pthread_barrier_wait(&both);
        wait_for_all();
        pthread_barrier_wait(&both);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int64_t batches = (argc > 1 ? atoi(argv[1]) : 10000) / BATCH;
    int provided;
    norn_world *world;
    norn_config config = NORN_CONFIG_INIT;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 2);
    config.workers = 1;
    OK(norn_open(&config, &rt));
    OK(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world));
    CHECK(pthread_barrier_init(&both, NULL, 2) == 0);
    if (rank == 1) CHECK(pthread_create(&thread, NULL, second, &batches) == 0);
    for (int64_t batch = 0; batch < batches; batch++) {
        base = batch * BATCH;
        for (int at = 0; at < BATCH; at++) {
            norn_slice slice = norn_slice_at(&memory[at], NORN_I64, 1);
            if (rank == 0) {
                memory[at] = base + at;
                OK(norn_send(world, &slice, 1, NORN_KEY_ORDER, NULL, &tokens[at]));
            } else {
                atomic_store(&ends[at], 0);
                OK(norn_recv(world, &slice, 0, NORN_KEY_ORDER, NULL, &tokens[at]));
                OK(norn_on_complete(rt, tokens[at], ended, &ends[at]));
            }
        }
        if (rank == 0) {
            OK(norn_await_all(rt, tokens, BATCH, -1));
            continue;
        }
        pthread_barrier_wait(&both);
        wait_for_all();
        pthread_barrier_wait(&both);
        // Callbacks run on their own time, but before a drain is over.
        OK(norn_drain(rt, -1));
        for (int at = 0; at < BATCH; at++) CHECK(atomic_load(&ends[at]) == 1);
    }
    if (rank == 1) CHECK(pthread_join(thread, NULL) == 0);
    OK(norn_close(rt));
    MPI_Finalize();
    return 0;
}
