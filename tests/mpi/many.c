// Many receives posted at once, whose messages come in the reverse order: each gets its own (H5). Prints what a message takes
// beside MPI's own calls with the same tags in the same order.
//
//   many [RECEIVES]        the most at once; 1000
#include <time.h>

#include "check.h"

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// From rank 0 to rank 1, by norn; seconds from when all receives are posted.
static double by_norn(norn_runtime *rt, norn_world *world, int count, int64_t *memory, norn_token *tokens) {
    double begin;
    for (int at = 0; at < count && rank == 1; at++) {
        norn_slice slice = norn_slice_at(&memory[at], NORN_I64, 1);
        OK(norn_recv(world, &slice, 0, at, NULL, &tokens[at]));
    }
    OK(norn_world_flush(world, -1));
    MPI_Barrier(MPI_COMM_WORLD);
    begin = seconds();
    for (int at = count - 1; at >= 0 && rank == 0; at--) {
        norn_slice slice = norn_slice_at(&memory[at], NORN_I64, 1);
        OK(norn_send(world, &slice, 1, at, NULL, &tokens[at]));
    }
    OK(norn_await_all(rt, tokens, (uint64_t)count, -1));
    return seconds() - begin;
}

static double by_mpi(int count, int64_t *memory, MPI_Request *requests, MPI_Status *statuses) {
    double begin;
    for (int at = 0; at < count && rank == 1; at++) MPI_Irecv(&memory[at], 1, MPI_INT64_T, 0, at, MPI_COMM_WORLD, &requests[at]);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = seconds();
    for (int at = count - 1; at >= 0 && rank == 0; at--) MPI_Isend(&memory[at], 1, MPI_INT64_T, 1, at, MPI_COMM_WORLD, &requests[at]);
    MPI_Waitall(count, requests, statuses); // some headers' MPI_STATUSES_IGNORE has gcc warn
    return seconds() - begin;
}

int main(int argc, char **argv) {
    const int most = argc > 1 ? atoi(argv[1]) : 1000;
    int64_t *memory = malloc(sizeof *memory * (size_t)most);
    norn_token *tokens = malloc(sizeof *tokens * (size_t)most);
    MPI_Request *requests = malloc(sizeof *requests * (size_t)most);
    MPI_Status *statuses = malloc(sizeof *statuses * (size_t)most);
    norn_world_info info = NORN_WORLD_INFO_INIT;
    norn_runtime *rt;
    norn_world *world;
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 2 && memory && tokens && requests && statuses);
    OK(norn_open(NULL, &rt));
    OK(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world));
    OK(norn_world_get(world, &info));
    CHECK((uint64_t)info.key_limit >= (uint64_t)most);
    for (int turn = 0, count = 10; turn < 3; turn++, count = turn == 1 ? 1000 : most) {
        double times[2];
        if (count > most) count = most;
        for (int bare = 0; bare < 2; bare++) {
            for (int at = 0; at < count; at++) memory[at] = rank ? -1 : 7 * at + turn;
            times[bare] = bare ? by_mpi(count, memory, requests, statuses) : by_norn(rt, world, count, memory, tokens);
            for (int at = 0; at < count; at++) CHECK(memory[at] == 7 * at + turn);
        }
        if (rank == 1)
            printf("%d receives, the last first: %.2f us a message, %.2f us by MPI alone\n", count, 1e6 * times[0] / count, 1e6 * times[1] / count);
    }
    OK(norn_close(rt));
    MPI_Finalize();
    free(memory);
    free(tokens);
    free(requests);
    free(statuses);
    return 0;
}
