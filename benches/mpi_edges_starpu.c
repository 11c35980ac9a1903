/*
 * StarPU-MPI's messages between two ranks against raw MPI in the same run, as mpi_edges.c does it for norn: the detached
 * forms are left out, because each message here is waited for.
 *
 *     mpirun -n 2 mpi_edges_starpu [REPETITIONS]
 *
 * One worker, which has nothing to do; StarPU's own thread makes the messages go on.
 */
#include <starpu.h>
#include <starpu_mpi.h>

#include "mpi_pair.h"

static starpu_data_handle_t handles[2 * IN_FLIGHT];

/* So many pieces of the incoming buffer as data, and one of the outgoing behind them. */
static void register_pieces(int count, size_t bytes) {
    for (int i = 0; i < count; i++)
        starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)(incoming + (size_t)i * bytes), (uint32_t)bytes, 1);
    starpu_vector_data_register(&handles[count], STARPU_MAIN_RAM, (uintptr_t)outgoing, (uint32_t)bytes, 1);
}

static void unregister_pieces(int count) {
    for (int i = 0; i <= count; i++) starpu_data_unregister(handles[i]);
}

static double ping_starpu(size_t bytes) {
    starpu_mpi_req request;
    register_pieces(1, bytes);
    double start = MPI_Wtime();
    for (int i = 0; i < 2 * pings; i++) {
        if (i % 2 == me)
            starpu_mpi_isend(handles[1], &request, other, 0, MPI_COMM_WORLD);
        else
            starpu_mpi_irecv(handles[0], &request, other, 0, MPI_COMM_WORLD);
        starpu_mpi_wait(&request, MPI_STATUS_IGNORE);
    }
    double seconds = (MPI_Wtime() - start) / (2 * pings);
    unregister_pieces(1);
    return seconds;
}

/* All of them write the same memory, as raw MPI's do: a datum each would need as many buffers. */
static double stream_starpu(size_t bytes) {
    int count = transfers_of(bytes);
    starpu_mpi_req requests[TRANSFERS];
    register_pieces(1, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < count; i++)
        if (me == 0)
            starpu_mpi_isend(handles[1], &requests[i], 1, 0, MPI_COMM_WORLD);
        else
            starpu_mpi_irecv(handles[0], &requests[i], 0, 0, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) starpu_mpi_wait(&requests[i], MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = (MPI_Wtime() - start) / count;
    unregister_pieces(1);
    return seconds;
}

static double many_starpu(size_t bytes) {
    static starpu_mpi_req requests[2 * IN_FLIGHT];
    register_pieces(IN_FLIGHT, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < IN_FLIGHT; i++) starpu_mpi_irecv(handles[i], &requests[i], other, i, MPI_COMM_WORLD);
    for (int i = 0; i < IN_FLIGHT; i++)
        starpu_mpi_isend(handles[IN_FLIGHT], &requests[IN_FLIGHT + i], other, IN_FLIGHT - 1 - i, MPI_COMM_WORLD);
    for (int i = 0; i < 2 * IN_FLIGHT; i++) starpu_mpi_wait(&requests[i], MPI_STATUS_IGNORE);
    double seconds = (MPI_Wtime() - start) / IN_FLIGHT;
    unregister_pieces(IN_FLIGHT);
    return seconds;
}

int main(int argc, char **argv) {
    struct starpu_conf conf;
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    begin_pair(argc, argv, level);
    pings = 20; /* its threads spin: where cores are fewer than these, a round takes milliseconds */
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    if (starpu_mpi_init_conf(&argc, &argv, 0, MPI_COMM_WORLD, &conf) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    measure_pair("StarPU", ping_starpu, stream_starpu, many_starpu);
    starpu_mpi_shutdown();
    end_pair();
    MPI_Finalize();
    return 0;
}
