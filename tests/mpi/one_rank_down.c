// One rank of four goes down while the others wait for it, in a sum and for a message.
//
// "fails": the work of rank 2 fails. Every wait of every rank fails with that, the closes return, and the job's exit code
// says so. "killed": rank 2 is gone without a word. What becomes of the others is the launcher's business; nobody hangs, and
// nobody says that all went well. "aborts": as "fails", where the application wants a failure to end it (on_failure): by
// MPI_Abort, which takes the other ranks along.
#include <signal.h>
#include <string.h>

#include "check.h"

static int32_t fails(norn_self *self, void *arg) {
    (void)arg;
    return norn_self_fail(self, 7, "as planned");
}

static int32_t dies(norn_self *self, void *arg) {
    (void)self, (void)arg;
    return raise(SIGKILL);
}

// In front of MPI's, as a profiler's would be.
int MPI_Abort(MPI_Comm comm, int code) {
    printf("rank %d calls MPI_Abort\n", rank);
    fflush(stdout);
    return PMPI_Abort(comm, code);
}

int main(int argc, char **argv) {
    enum { DOWN = 2 };
    int provided, killed = argc > 1 && !strcmp(argv[1], "killed"), aborts = argc > 1 && !strcmp(argv[1], "aborts");
    norn_config config = NORN_CONFIG_INIT;
    norn_runtime *rt;
    norn_world *world;
    norn_token down = {0}, tokens[2];
    norn_task how = NORN_TASK_INIT, task = NORN_TASK_INIT;
    double sum = 1, other = 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (aborts) config.on_failure = NORN_ON_FAILURE_ABORT;
    OK(norn_open(&config, &rt));
    OK(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world));
    norn_slice all = norn_slice_at(&sum, NORN_F64, 1), one = norn_slice_at(&other, NORN_F64, 1);
    if (rank == DOWN) {
        // All others wait by now, or will.
        MPI_Barrier(MPI_COMM_WORLD);
        task.run = killed ? dies : fails;
        OK(norn_submit(rt, &task, &down));
        how.after = &down;
        how.after_count = 1;
    }
    OK(norn_allreduce(world, NULL, &all, NORN_SUM, &how, &tokens[0]));
    if (rank == DOWN) {
        for (int to = 0; to < size; to++)
            if (to != DOWN) OK(norn_send(world, &one, to, 3, &how, &tokens[1]));
    } else {
        OK(norn_recv(world, &one, DOWN, 3, NULL, &tokens[1]));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int at = 0; at < 2; at++) {
        norn_status ended = norn_await(rt, tokens[at], -1);
        // A CHECK would abort, which is norn's to do here.
        if (ended == NORN_OK) printf("rank %d has seen no failure\n", rank);
    }
    if (killed) {
        printf("rank %d outlived rank %d\n", rank, DOWN);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int at = 0; at < 2; at++) {
        norn_error_info info = NORN_ERROR_INFO_INIT;
        OK(norn_error(rt, tokens[at], &info));
        CHECK(info.rank == DOWN && info.code == 7);
    }
    norn_status closed = norn_close(rt);
    CHECK(rank != DOWN || closed == NORN_OK || closed == NORN_E_TASK_FAILED);
    printf("rank %d has seen it\n", rank);
    fflush(stdout);
    // A launcher may end the others as soon as one has ended badly.
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 1;
}
