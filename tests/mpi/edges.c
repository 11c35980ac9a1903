// Edges between real ranks: a ring of ordered edges, failure across ranks, collectives, detach and attach again.
#include <string.h>

#include "check.h"

static int32_t fails(norn_self *self, void *arg) {
    return norn_self_fail(self, 7, arg);
}

static norn_slice bytes(void *memory, uint64_t count) {
    norn_slice slice = NORN_SLICE_INIT;
    slice.ptr = memory;
    slice.count = count;
    return slice;
}

static void ring(norn_runtime *rt, norn_world *world) {
    enum { EDGES = 300 };
    static int64_t out[EDGES], in[EDGES];
    static norn_token tokens[2 * EDGES];
    for (int i = 0; i < EDGES; i++) {
        out[i] = rank * 1000 + i;
        norn_slice from = bytes(&out[i], 8), to = bytes(&in[i], 8);
        OK(norn_send(world, &from, (rank + 1) % size, NORN_KEY_ORDER, NULL, &tokens[2 * i]));
        OK(norn_recv(world, &to, (rank + size - 1) % size, NORN_KEY_ORDER, NULL, &tokens[2 * i + 1]));
    }
    OK(norn_await_all(rt, tokens, 2 * EDGES, -1));
    for (int i = 0; i < EDGES; i++) CHECK(in[i] == (rank + size - 1) % size * 1000 + i);
}

static void sizes(norn_runtime *rt, norn_world *world) {
    const uint64_t all[] = {0, 1, 5000, 3 << 20};
    for (int i = 0; i < 4; i++) {
        unsigned char *out = malloc(all[i] + 1), *in = malloc(all[i] + 1);
        memset(out, rank + 1, all[i] + 1);
        memset(in, 0, all[i] + 1);
        for (int self = 0; self < 2; self++) {
            int to = self ? rank : (rank + 1) % size, from = self ? rank : (rank + size - 1) % size;
            norn_slice give = bytes(out, all[i]), take = bytes(in, all[i]);
            norn_token tokens[2];
            OK(norn_recv(world, &take, from, 5, NULL, &tokens[0]));
            OK(norn_send(world, &give, to, 5, NULL, &tokens[1]));
            OK(norn_await_all(rt, tokens, 2, -1));
            for (uint64_t at = 0; at < all[i]; at++) CHECK(in[at] == from + 1);
        }
        free(out);
        free(in);
    }
}

static void failure(norn_runtime *rt, norn_world *world) {
    char memory[8] = {0};
    for (int length = 0; length < 9; length += 4) {
        norn_slice slice = bytes(memory, (uint64_t)length);
        norn_task how = NORN_TASK_INIT, task = NORN_TASK_INIT;
        norn_token failed = {0}, edge;
        if (rank == 0) {
            task.run = fails;
            task.arg = "as asked";
            task.name = "the first";
            OK(norn_submit(rt, &task, &failed));
            how.after = &failed;
            how.after_count = 1;
            OK(norn_send(world, &slice, size - 1, 1, &how, &edge));
            CHECK(norn_await(rt, edge, -1) == NORN_E_PROPAGATED);
        }
        if (rank == size - 1) {
            norn_error_info info = NORN_ERROR_INFO_INIT;
            OK(norn_recv(world, &slice, 0, 1, NULL, &edge));
            CHECK(norn_await(rt, edge, -1) == NORN_E_PROPAGATED);
            OK(norn_error(rt, edge, &info));
            CHECK(info.code == 7 && !strcmp(info.text, "as asked") && !strcmp(info.task, "the first"));
            CHECK(info.rank == 0);
        }
    }
}

static void collectives(norn_runtime *rt, norn_world *world) {
    double mine = rank + 1, sum = 0;
    norn_slice from = bytes(&mine, 1), to = bytes(&sum, 1);
    from.type = to.type = NORN_F64;
    norn_token token;
    OK(norn_allreduce(world, &from, &to, NORN_SUM, NULL, &token));
    OK(norn_await(rt, token, -1));
    CHECK(sum == size * (size + 1) / 2.0);
    OK(norn_barrier(world, NULL, &token));
    OK(norn_await(rt, token, -1));
    int32_t word = rank == size - 1 ? 99 : 0;
    norn_slice buffer = bytes(&word, 1);
    buffer.type = norn_type_of_mpi(MPI_INT);
    OK(norn_bcast(world, &buffer, size - 1, NULL, &token));
    OK(norn_await(rt, token, -1));
    CHECK(word == 99);
}

static void derived(norn_runtime *rt, norn_world *world) {
    MPI_Datatype column;
    double matrix[4][4], got[4] = {0};
    for (int i = 0; i < 16; i++) matrix[i / 4][i % 4] = i;
    MPI_Type_vector(4, 1, 4, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    norn_slice from = NORN_SLICE_INIT, to = bytes(got, 4);
    from.ptr = &matrix[0][2];
    from.type = norn_type_of_mpi(column);
    from.count = 1;
    to.type = NORN_F64;
    norn_token tokens[2];
    OK(norn_recv(world, &to, rank, 9, NULL, &tokens[0]));
    OK(norn_send(world, &from, rank, 9, NULL, &tokens[1]));
    OK(norn_await_all(rt, tokens, 2, -1));
    for (int i = 0; i < 4; i++) CHECK(got[i] == 4 * i + 2);
    from = bytes(&matrix[0][1], 1);
    from.type = NORN_F64;
    from.blocks = 4;
    from.stride = 4;
    OK(norn_recv(world, &to, rank, 9, NULL, &tokens[0]));
    OK(norn_send(world, &from, rank, 9, NULL, &tokens[1]));
    OK(norn_await_all(rt, tokens, 2, -1));
    for (int i = 0; i < 4; i++) CHECK(got[i] == 4 * i + 1);
    MPI_Type_free(&column);
}

int main(int argc, char **argv) {
    int asked = argc > 1 ? atoi(argv[1]) : 3, provided;
    const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
    MPI_Init_thread(&argc, &argv, levels[asked], &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    norn_runtime *rt;
    norn_world *world;
    OK(norn_open(NULL, &rt));
    for (int round = 0; round < 3; round++) {
        OK(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world));
        norn_world_info info = NORN_WORLD_INFO_INIT;
        OK(norn_world_get(world, &info));
        CHECK(info.rank == rank && info.size == size);
        ring(rt, world);
        sizes(rt, world);
        failure(rt, world);
        collectives(rt, world);
        if (info.thread_level >= NORN_THREAD_SERIALIZED || rank >= 0) derived(rt, world);
        OK(norn_world_detach(world, -1));
    }
    (void)norn_close(rt);
    MPI_Finalize();
    if (rank == 0) printf("edges: %d ranks, level %d: ok\n", size, asked);
    return 0;
}
