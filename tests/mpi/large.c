// Edges of more than 2^31 - 1 elements, and of more than 2 GiB; with an argument, a broadcast. Two ranks, and about 6 GiB of
// memory.
#define _GNU_SOURCE
#include <sys/mman.h>

#include "check.h"

static norn_runtime *rt;
static norn_world *world;

/* Where marks are: the ends, both sides of the 31st and 32nd bit, and between. */
static const uint64_t marks[] = {0, 1, 4095, (1ull << 31) - 2, (1ull << 31) - 1, 1ull << 31, (1ull << 31) + 6, (1ull << 32) - 1, 1ull << 32};
enum { MARKS = sizeof marks / sizeof *marks };

static unsigned char *memory_of(uint64_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1);
    }
    return memory;
}

static void write_marks(unsigned char *memory, uint64_t bytes) {
    for (int i = 0; i < MARKS; i++)
        if (marks[i] < bytes) memory[marks[i]] = (unsigned char)(i + 1);
    memory[bytes - 1] = 99;
}

static void check_marks(const unsigned char *memory, uint64_t bytes, const char *what) {
    int wrong = memory[bytes - 1] != 99;
    for (int i = 0; i < MARKS; i++) wrong |= marks[i] < bytes - 1 && memory[marks[i]] != i + 1;
    if (wrong) {
        fprintf(stderr, "%s of %llu B: a mark is not where it was\n", what, (unsigned long long)bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1);
    }
}

/* From rank 0 to rank 1; `type`: of one byte. */
static void pass(uint64_t bytes, norn_type type, const char *what, int broadcast) {
    unsigned char *memory = memory_of(bytes);
    norn_slice slice = NORN_SLICE_INIT;
    norn_token token;
    slice.ptr = memory;
    slice.type = type;
    slice.count = bytes;
    if (rank == 0) write_marks(memory, bytes);
    if (broadcast)
        OK(norn_bcast(world, &slice, 0, NULL, &token));
    else if (rank == 0)
        OK(norn_send(world, &slice, 1, 0, NULL, &token));
    else
        OK(norn_recv(world, &slice, 0, 0, NULL, &token));
    OK(norn_await(rt, token, -1));
    check_marks(memory, bytes, what);
    munmap(memory, bytes);
    if (rank == 0) printf("%s, %llu B\n", what, (unsigned long long)bytes);
    fflush(stdout);
}

int main(int argc, char **argv) {
    const uint64_t sizes[] = {(1ull << 31) - 1, 1ull << 31, (1ull << 31) + 7, (1ull << 32) + 1, 5ull << 30};
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 2);
    OK(norn_open(NULL, &rt));
    OK(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world));
    for (int i = 0; i < 5 && argc == 1; i++) pass(sizes[i], NORN_BYTE, "bytes", 0);
    pass(sizes[2], norn_type_of_mpi(MPI_CHAR), argc == 1 ? "elements of MPI_CHAR" : "broadcast of MPI_CHAR", argc > 1);
    if (argc > 1) pass(sizes[2], NORN_BYTE, "broadcast of bytes", 1);
    OK(norn_close(rt));
    if (rank == 0) printf("large: ok\n");
    MPI_Finalize();
    return 0;
}
