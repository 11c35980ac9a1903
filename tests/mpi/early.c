// Messages that come before their receives are declared: each waits for its own, and none takes a receive that is posted
// for something else from the same rank.
//
// Rank 1 has receives open for one phase when rank 0 sends all of the next phase, by keys and in order, small and large;
// rank 1 stays outside of norn meanwhile, and only then declares that phase's receives (F5).
//
//   early [MILLISECONDS]        how long rank 1 stays outside; 300
#include <string.h>
#include <time.h>

#include "check.h"

enum { SMALL = 1000, OPEN = 100, LARGE = 64 << 20, FIRST_KEY = 500 };

int main(int argc, char **argv) {
    static int64_t open_phase[OPEN], keyed[SMALL], ordered[SMALL];
    static norn_token waits[OPEN], tokens[2 * SMALL + 1];
    int provided, count = 0;
    norn_runtime *rt;
    norn_world *world;
    norn_slice slice;
    unsigned char *large = malloc(LARGE);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(large && size == 2);
    memset(large, rank ? 0 : 7, LARGE);
    OK(norn_open(NULL, &rt));
    OK(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world));
    if (rank == 1) {
        const int ms = argc > 1 ? atoi(argv[1]) : 300;
        const struct timespec a_while = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
        for (int at = 0; at < OPEN; at++) {
            slice = norn_slice_at(&open_phase[at], NORN_I64, 1);
            OK(norn_recv(world, &slice, 0, at, NULL, &waits[at]));
        }
        MPI_Barrier(MPI_COMM_WORLD);
        nanosleep(&a_while, NULL);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int at = 0; at < SMALL; at++) {
        // The keys from behind on rank 1.
        int key = rank ? SMALL - 1 - at : at;
        if (!rank) keyed[at] = 1000 + at, ordered[at] = 5000 + at;
        slice = norn_slice_at(&keyed[key], NORN_I64, 1);
        OK((rank ? norn_recv : norn_send)(world, &slice, 1 - rank, FIRST_KEY + key, NULL, &tokens[count++]));
        slice = norn_slice_at(&ordered[at], NORN_I64, 1);
        OK((rank ? norn_recv : norn_send)(world, &slice, 1 - rank, NORN_KEY_ORDER, NULL, &tokens[count++]));
    }
    slice = norn_slice_at(large, NORN_BYTE, LARGE);
    OK((rank ? norn_recv : norn_send)(world, &slice, 1 - rank, FIRST_KEY + SMALL, NULL, &tokens[count++]));
    OK(norn_await_all(rt, tokens, (uint64_t)count, -1));
    if (rank == 1) {
        for (int at = 0; at < SMALL; at++) CHECK(keyed[at] == 1000 + at && ordered[at] == 5000 + at);
        for (int at = 0; at < LARGE; at++) CHECK(large[at] == 7);
        for (int at = 0; at < OPEN; at++) {
            int32_t done = 1;
            OK(norn_test(rt, waits[at], &done));
            CHECK(!done && open_phase[at] == 0);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int at = 0; at < OPEN && rank == 0; at++) {
        open_phase[at] = 9000 + at;
        slice = norn_slice_at(&open_phase[at], NORN_I64, 1);
        OK(norn_send(world, &slice, 1, at, NULL, &waits[at]));
    }
    OK(norn_await_all(rt, waits, OPEN, -1));
    for (int at = 0; at < OPEN; at++) CHECK(open_phase[at] == 9000 + at);
    OK(norn_close(rt));
    MPI_Finalize();
    free(large);
    return 0;
}
