// Runtimes opened and closed, worlds attached and detached, again and again: an MPI has some two thousand communicators, and
// each world takes several. What is not given back is missed before the rounds are over; files and threads are counted here.
//
//   attached ROUNDS
#include <dirent.h>

#include "check.h"

static int count(const char *folder) {
    int entries = 0;
    DIR *open = opendir(folder);
    CHECK(open != NULL);
    while (readdir(open) != NULL) entries++;
    closedir(open);
    return entries;
}

static void attach_once(norn_runtime *rt) {
    norn_world *world, *lane;
    norn_token token;
    double sum = 1, next = 0;
    norn_slice slice = NORN_SLICE_INIT, place = NORN_SLICE_INIT;
    OK(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world));
    OK(norn_world_lane(world, &lane));
    slice.ptr = &sum, slice.type = NORN_F64, slice.count = 1;
    place.ptr = &next, place.type = NORN_F64, place.count = 1;
    OK(norn_allreduce(lane, NULL, &slice, NORN_SUM, NULL, &token));
    OK(norn_await(rt, token, -1));
    CHECK(sum == size);
    OK(norn_send(world, &slice, (rank + 1) % size, 3, NULL, NULL));
    OK(norn_recv(world, &place, (rank + size - 1) % size, 3, NULL, &token));
    OK(norn_await(rt, token, -1));
    CHECK(next == size);
    OK(norn_world_detach(world, -1));
}

int main(int argc, char **argv) {
    int provided, rounds = argc > 1 ? atoi(argv[1]) : 200, files = 0, threads = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    norn_runtime *lasting;
    OK(norn_open(NULL, &lasting));
    for (int round = 0; round < rounds; round++) {
        norn_runtime *rt;
        attach_once(lasting);
        OK(norn_open(NULL, &rt));
        attach_once(rt);
        OK(norn_close(rt));
        // MPI has made its own by now.
        if (round == 9) files = count("/proc/self/fd"), threads = count("/proc/self/task");
    }
    if (rounds > 9) {
        CHECK(count("/proc/self/fd") == files);
        CHECK(count("/proc/self/task") == threads);
    }
    OK(norn_close(lasting));
    MPI_Finalize();
    return 0;
}
