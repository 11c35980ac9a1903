// Edges between real ranks: a ring of ordered edges, a narrow window of tags, failure across ranks, all collectives, types and
// planes of MPI's and of norn's, more receives than are posted at once, two worlds at once, the application's own messages meanwhile, detach and attach again.
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

enum { EDGES = 300 };

static void ring(norn_runtime *rt, norn_world *world) {
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
    const uint64_t all[] = {0, 1, 5000, 3 << 20, 64 << 20};
    // The largest to itself only (I3): several ranks of one machine have no more memory than one.
    for (int i = 0; i < (size == 1 ? 5 : 4); i++) {
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
            CHECK(in[all[i]] == 0);
            for (uint64_t at = 0; at < all[i]; at++) CHECK(in[at] == from + 1);
            memset(in, 0, all[i] + 1);
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

// Of a batch that one wait ends, one receive has no room for its message, the first, the next...: its own token fails and no other.
static void one_too_small(norn_runtime *rt, norn_world *world) {
    enum { BATCH = 12, LENGTH = 4096 };
    static unsigned char out[BATCH][LENGTH], in[BATCH][LENGTH];
    norn_token tokens[2 * BATCH];
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int small = 0; small < BATCH; small++) {
        for (int i = 0; i < BATCH; i++) {
            norn_slice take = bytes(in[i], i == small ? LENGTH / 2 : LENGTH), give = bytes(out[i], LENGTH);
            memset(out[i], 1 + small + i, LENGTH);
            OK(norn_recv(world, &take, from, i, NULL, &tokens[i]));
            OK(norn_send(world, &give, to, i, NULL, &tokens[BATCH + i]));
        }
        (void)norn_await_all(rt, tokens, 2 * BATCH, -1);
        for (int i = 0; i < 2 * BATCH; i++) CHECK(norn_await(rt, tokens[i], -1) == (i == small ? NORN_E_MISMATCH : NORN_OK));
        for (int i = 0; i < BATCH; i++) CHECK(i == small || (in[i][0] == 1 + small + i && in[i][LENGTH - 1] == 1 + small + i));
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
    sum = 0;
    OK(norn_reduce(world, &from, &to, NORN_MAX, size - 1, NULL, &token));
    OK(norn_await(rt, token, -1));
    CHECK(sum == (rank == size - 1 ? size : 0));
}

// One element of each rank for each rank, and i + 1 of rank i in the v forms.
static void exchanges(norn_runtime *rt, norn_world *world) {
    enum { MOST = 8 };
    double mine[MOST], got[MOST], parts[MOST * (MOST + 1) / 2];
    uint64_t counts[MOST], all = 0;
    norn_slice own = bytes(mine, 1), whole = bytes(got, (uint64_t)size);
    norn_token token;
    CHECK(size <= MOST);
    own.type = whole.type = NORN_F64;
    for (int i = 0; i < size; i++) counts[i] = (uint64_t)i + 1, all += counts[i], mine[i] = 100 * rank, got[i] = -1;
    OK(norn_gather(world, &own, &whole, NULL, 0, NULL, &token));
    OK(norn_await(rt, token, -1));
    for (int i = 0; i < size; i++) CHECK(got[i] == (rank == 0 ? 100 * i : -1));
    OK(norn_allgather(world, &own, &whole, NULL, NULL, &token));
    OK(norn_await(rt, token, -1));
    for (int i = 0; i < size; i++) CHECK(got[i] == 100 * i);
    // Each rank has what the root was given by it.
    mine[0] = -1;
    OK(norn_scatter(world, &whole, &own, NULL, 0, NULL, &token));
    OK(norn_await(rt, token, -1));
    CHECK(mine[0] == 100 * rank);
    own.count = (uint64_t)size;
    for (int i = 0; i < size; i++) mine[i] = 100 * rank + i;
    OK(norn_alltoall(world, &own, NULL, &whole, NULL, NULL, &token));
    OK(norn_await(rt, token, -1));
    for (int i = 0; i < size; i++) CHECK(got[i] == 100 * i + rank);
    own.count = counts[rank];
    norn_slice uneven = bytes(parts, all);
    uneven.type = NORN_F64;
    OK(norn_allgather(world, &own, &uneven, counts, NULL, &token));
    OK(norn_await(rt, token, -1));
    for (int i = 0, at = 0; i < size; i++)
        for (int k = 0; k <= i; k++) CHECK(parts[at++] == 100 * i + k);
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

// The inner cells of a cube to the next rank, and into the inner cells of another cube.
static void planes(norn_runtime *rt, norn_world *world) {
    enum { N = 6 };
    static int64_t out[N][N][N], in[N][N][N];
    norn_slice from = bytes(out, N - 2), to;
    norn_token tokens[2];
    from.type = NORN_I64;
    from.offset = N * N + N + 1;
    from.blocks = from.planes = N - 2;
    from.stride = N;
    from.plane_stride = N * N;
    to = from;
    to.ptr = in;
    for (int i = 0; i < N * N * N; i++) out[i / N / N][i / N % N][i % N] = 1000 * rank + i, in[i / N / N][i / N % N][i % N] = -1;
    OK(norn_recv(world, &to, (rank + size - 1) % size, 11, NULL, &tokens[0]));
    OK(norn_send(world, &from, (rank + 1) % size, 11, NULL, &tokens[1]));
    OK(norn_await_all(rt, tokens, 2, -1));
    for (int z = 0; z < N; z++)
        for (int y = 0; y < N; y++)
            for (int x = 0; x < N; x++) {
                int inner = z > 0 && z < N - 1 && y > 0 && y < N - 1 && x > 0 && x < N - 1;
                CHECK(in[z][y][x] == (inner ? (rank + size - 1) % size * 1000 + (z * N + y) * N + x : -1));
            }
}

// A second world on a communicator of half of the ranks, turned round, beside the first: the same keys and numbers, and neither
// has the other's messages.
static void two_worlds(norn_runtime *rt, norn_world *world) {
    enum { EACH = 50 };
    static int64_t out[2][EACH], in[2][EACH];
    norn_token tokens[4 * EACH];
    norn_world *worlds[2] = {world, NULL};
    norn_world_info info = NORN_WORLD_INFO_INIT;
    MPI_Comm half;
    int count = 0, part_rank, part_size;
    OK(norn_world_flush(world, -1));
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_rank(half, &part_rank);
    MPI_Comm_size(half, &part_size);
    OK(norn_world_attach(rt, half, NULL, &worlds[1]));
    OK(norn_world_get(worlds[1], &info));
    CHECK(info.rank == part_rank && info.size == part_size);
    for (int i = 0; i < EACH; i++)
        for (int w = 0; w < 2; w++) {
            int me = w ? part_rank : rank, of = w ? part_size : size;
            int64_t key = i % 2 ? NORN_KEY_ORDER : i;
            norn_slice from = bytes(&out[w][i], 8), to = bytes(&in[w][i], 8);
            out[w][i] = 100000 * w + 1000 * me + i;
            OK(norn_send(worlds[w], &from, (me + 1) % of, key, NULL, &tokens[count++]));
            OK(norn_recv(worlds[w], &to, (me + of - 1) % of, key, NULL, &tokens[count++]));
        }
    OK(norn_await_all(rt, tokens, (uint64_t)count, -1));
    for (int i = 0; i < EACH; i++) {
        CHECK(in[0][i] == (rank + size - 1) % size * 1000 + i);
        CHECK(in[1][i] == 100000 + (part_rank + part_size - 1) % part_size * 1000 + i);
    }
    OK(norn_world_detach(worlds[1], -1));
    OK(norn_world_flush(world, -1));
    MPI_Comm_free(&half);
}

// The application's own messages on the communicator that the world was made from, by any source and any tag, before norn's and
// while they are under way (G3).
static void own_messages(norn_runtime *rt, norn_world *world) {
    enum { OWN = 101 };
    static int out[OWN], in[OWN];
    int tags[OWN] = {0};
    MPI_Request requests[2 * OWN];
    MPI_Status statuses[2 * OWN]; // some headers' MPI_STATUSES_IGNORE has gcc warn
    OK(norn_world_flush(world, -1)); // in turn with norn's threads, where they take turns
    for (int i = 0; i < OWN; i++) MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
    ring(rt, world);
    OK(norn_world_flush(world, -1));
    for (int i = 0; i < OWN; i++) {
        out[i] = 1000 * rank + i;
        MPI_Isend(&out[i], 1, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD, &requests[OWN + i]);
        if (i != OWN / 2) continue;
        ring(rt, world);
        OK(norn_world_flush(world, -1));
    }
    MPI_Waitall(2 * OWN, requests, statuses);
    for (int i = 0; i < OWN; i++) {
        int tag = in[i] - (rank + size - 1) % size * 1000;
        CHECK(tag >= 0 && tag < OWN && tags[tag]++ == 0);
    }
}

// Many more ordered edges than tags: 64 and 65 of them under way at once, each with its number (G1).
static void narrow_window(norn_runtime *rt) {
    enum { ALL = 10000, TAGS = 64 };
    static int64_t out[ALL], in[ALL];
    norn_token tokens[2 * (TAGS + 1)];
    norn_world_config config = NORN_WORLD_CONFIG_INIT;
    norn_world *world;
    config.tag_limit = TAGS;
    config.ordered_lanes = 1;
    OK(norn_world_attach(rt, MPI_COMM_WORLD, &config, &world));
    for (int most = TAGS; most <= TAGS + 1; most++) {
        int count = 0;
        for (int i = 0; i < ALL; i++) {
            norn_slice from = bytes(&out[i], 8), to = bytes(&in[i], 8);
            out[i] = 100000 * rank + i;
            in[i] = -1;
            OK(norn_send(world, &from, (rank + 1) % size, NORN_KEY_ORDER, NULL, &tokens[count++]));
            OK(norn_recv(world, &to, (rank + size - 1) % size, NORN_KEY_ORDER, NULL, &tokens[count++]));
            if (count < 2 * most && i < ALL - 1) continue;
            OK(norn_await_all(rt, tokens, (uint64_t)count, -1));
            count = 0;
        }
        for (int i = 0; i < ALL; i++) CHECK(in[i] == (rank + size - 1) % size * 100000 + i);
    }
    OK(norn_world_detach(world, -1));
}

// Far more small receives than are posted at once, awaited in the reverse of their messages' order, behind a message whose receive
// is declared last, and beside receives whose messages are sent when the others have come.
static void many_receives(norn_runtime *rt, norn_world *world) {
    enum { ALL = 400, OTHERS = 100, BEYOND = 2000 };
    static int64_t out[ALL + 1], in[ALL + 1], others[OTHERS];
    static norn_token sent[ALL + OTHERS + 1], received[ALL], last[OTHERS];
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    for (int i = 0; i < OTHERS; i++) {
        norn_slice to = bytes(&others[i], 8);
        OK(norn_recv(world, &to, previous, BEYOND + i, NULL, &last[i]));
    }
    for (int i = 0; i < ALL; i++) {
        norn_slice to = bytes(&in[i], 8);
        in[i] = -1;
        OK(norn_recv(world, &to, previous, i, NULL, &received[i]));
    }
    for (int i = ALL; i >= 0; i--) {
        norn_slice from = bytes(&out[i], 8);
        out[i] = 1000 * rank + i;
        OK(norn_send(world, &from, next, i, NULL, &sent[i]));
    }
    for (int i = 0; i < ALL; i++) OK(norn_await(rt, received[i], -1));
    norn_slice to = bytes(&in[ALL], 8);
    norn_token token;
    OK(norn_recv(world, &to, previous, ALL, NULL, &token));
    OK(norn_await(rt, token, -1));
    for (int i = 0; i <= ALL; i++) CHECK(in[i] == 1000 * previous + i);
    for (int i = 0; i < OTHERS; i++) {
        norn_slice from = bytes(&out[i], 8);
        OK(norn_send(world, &from, next, BEYOND + i, NULL, &sent[ALL + 1 + i]));
    }
    OK(norn_await_all(rt, last, OTHERS, -1));
    OK(norn_await_all(rt, sent, ALL + OTHERS + 1, -1));
    for (int i = 0; i < OTHERS; i++) CHECK(others[i] == 1000 * previous + i);
}

// A datum of norn's in memory for MPI.
static void memory_for_mpi(norn_runtime *rt, norn_world *world) {
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data data[2];
    void *memory[2];
    norn_token tokens[2];
    desc.bytes = 100000;
    desc.kind = NORN_MEMORY_MPI;
    for (int i = 0; i < 2; i++) {
        OK(norn_data_alloc(rt, &desc, &data[i]));
        OK(norn_data_pointer(rt, data[i], &memory[i], NULL));
        memset(memory[i], i ? 0 : rank + 1, desc.bytes);
    }
    norn_slice from = norn_slice_of(data[0], NORN_BYTE, desc.bytes), to = norn_slice_of(data[1], NORN_BYTE, desc.bytes);
    OK(norn_recv(world, &to, (rank + size - 1) % size, 12, NULL, &tokens[0]));
    OK(norn_send(world, &from, (rank + 1) % size, 12, NULL, &tokens[1]));
    OK(norn_await_all(rt, tokens, 2, -1));
    for (uint64_t at = 0; at < desc.bytes; at++) CHECK(((unsigned char *)memory[1])[at] == (rank + size - 1) % size + 1);
    for (int i = 0; i < 2; i++) OK(norn_data_unregister(rt, data[i]));
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
        one_too_small(rt, world);
        collectives(rt, world);
        exchanges(rt, world);
        derived(rt, world);
        planes(rt, world);
        memory_for_mpi(rt, world);
        many_receives(rt, world);
        two_worlds(rt, world);
        own_messages(rt, world);
        OK(norn_world_detach(world, -1));
    }
    narrow_window(rt);
    (void)norn_close(rt);
    MPI_Finalize();
    if (rank == 0) printf("edges: %d ranks, level %d: ok\n", size, asked);
    return 0;
}
