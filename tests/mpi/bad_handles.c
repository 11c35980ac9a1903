// Handles of MPI's that are none, or do not go together, are refused at the call, with the culprit's name and MPI's own
// text, although the application has errors end the program. Nothing is taken: the world goes on afterwards.
#include <mpi.h>
#include <norn_mpi.h>
#include <stdio.h>
#include <string.h>

static norn_runtime *rt;
static norn_world *world;
static int rank, size;

#define CHECK(truth)                                                                                                   \
    do {                                                                                                               \
        if (!(truth)) {                                                                                                \
            fprintf(stderr, "rank %d, line %d: not so: %s (%s)\n", rank, __LINE__, #truth, norn_last_error());         \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                              \
        }                                                                                                              \
    } while (0)
#define REFUSED(call, text) CHECK((call) == NORN_E_INVALID && strstr(norn_last_error(), text) != NULL)

static double given[6], got[6];
static norn_slice slice_of(double *memory, norn_type type, uint64_t count) {
    norn_slice slice = NORN_SLICE_INIT;
    slice.ptr = memory, slice.type = type, slice.count = count;
    return slice;
}

static void communicators(void) {
    MPI_Comm part;
    norn_world *none = NULL;
    REFUSED(norn_world_attach(rt, MPI_COMM_NULL, NULL, &none), "MPI_COMM_NULL");
    // As a split gives it to ranks that do not take part.
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : MPI_UNDEFINED, 0, &part);
    if (rank == 0) {
        MPI_Comm_free(&part);
    } else {
        REFUSED(norn_world_attach(rt, part, NULL, &none), "MPI_COMM_NULL");
    }
    CHECK(none == NULL);
}

static void datatypes(void) {
    MPI_Datatype pair;
    norn_token token;
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    norn_slice none = slice_of(given, norn_type_of_mpi(MPI_DATATYPE_NULL), 1);
    norn_slice from = slice_of(given, norn_type_of_mpi(pair), 1), to = slice_of(got, norn_type_of_mpi(pair), 1);
    REFUSED(norn_send(world, &none, rank, 0, NULL, NULL), "from.type is no datatype of MPI's: MPI_DATATYPE_NULL");
    REFUSED(norn_recv(world, &none, rank, 0, NULL, NULL), "to.type is no datatype of MPI's: MPI_DATATYPE_NULL");
    REFUSED(norn_bcast(world, &none, 0, NULL, NULL), "buffer.type is no datatype of MPI's: MPI_DATATYPE_NULL");
    REFUSED(norn_send(world, &from, rank, 0, NULL, NULL), "does not take from.type, which must be committed: MPI_Pack");
    REFUSED(norn_recv(world, &to, rank, 0, NULL, NULL), "does not take to.type, which must be committed: MPI_Pack: ");
    REFUSED(norn_allgather(world, &from, &to, NULL, NULL, NULL), "must be committed: MPI_Pack: ");
    MPI_Type_commit(&pair);
    given[0] = 10 + rank, given[1] = 20 + rank;
    CHECK(norn_recv(world, &to, rank, 0, NULL, &token) == NORN_OK);
    CHECK(norn_send(world, &from, rank, 0, NULL, NULL) == NORN_OK);
    CHECK(norn_await(rt, token, -1) == NORN_OK && got[0] == 10 + rank && got[1] == 20 + rank);
    MPI_Type_free(&pair);
}

// Two doubles are a number and the power of ten above it; put one behind the other, in the order of the ranks.
static void behind(void *in, void *out, int *count, MPI_Datatype *type) {
    double *left = in, *right = out;
    (void)type;
    for (int i = 0; i < 2 * *count; i += 2) {
        right[i] = left[i] * right[i + 1] + right[i];
        right[i + 1] = left[i + 1] * right[i + 1];
    }
}
static void sums(void *in, void *out, int *count, MPI_Datatype *type) {
    double *left = in, *right = out;
    (void)type;
    for (int i = 0; i < 2 * *count; i++) right[i] += left[i];
}

static void operations(void) {
    const norn_type of_mpi = norn_type_of_mpi(MPI_DOUBLE), pair = norn_type_of_mpi(MPI_DOUBLE_INT);
    const char *none = "op is no operation of MPI's: MPI_OP_NULL";
    const char *not_it = "MPI does not take op on this type: MPI_Reduce_local";
    norn_slice from = slice_of(given, NORN_F64, 2), to = slice_of(got, NORN_F64, 2);
    norn_slice named = slice_of(given, of_mpi, 2), there = slice_of(got, of_mpi, 2);
    norn_slice pairs = slice_of(given, pair, 1), best = slice_of(got, pair, 1);
    REFUSED(norn_allreduce(world, &from, &to, norn_op_of_mpi(MPI_OP_NULL), NULL, NULL), none);
    REFUSED(norn_reduce(world, &from, &to, norn_op_of_mpi(MPI_OP_NULL), 0, NULL, NULL), none);
    const MPI_Op none_of_doubles[] = {MPI_BAND, MPI_LAND, MPI_MAXLOC, MPI_REPLACE};
    for (int i = 0; i < 4; i++) {
        norn_op op = norn_op_of_mpi(none_of_doubles[i]);
        REFUSED(norn_allreduce(world, &from, &to, op, NULL, NULL), not_it);
        REFUSED(norn_allreduce(world, &named, &there, op, NULL, NULL), not_it);
    }
    REFUSED(norn_allreduce(world, &named, &there, NORN_LOR, NULL, NULL), not_it);
    REFUSED(norn_allreduce(world, &pairs, &best, NORN_SUM, NULL, NULL), not_it);

    norn_token token;
    struct {
        double value;
        int rank;
    } mine = {rank % 2, rank}, most = {0, 0};
    pairs.ptr = &mine, best.ptr = &most;
    CHECK(norn_allreduce(world, &pairs, &best, norn_op_of_mpi(MPI_MAXLOC), NULL, &token) == NORN_OK);
    CHECK(norn_await(rt, token, -1) == NORN_OK && most.rank == (size > 1));
}

static void operations_of_the_application(void) {
    MPI_Datatype type;
    double in_order = 0;
    for (int i = 0; i < size; i++) in_order = 10 * in_order + i + 1;
    MPI_Type_contiguous(2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    norn_slice from = slice_of(given, norn_type_of_mpi(type), 2), to = slice_of(got, norn_type_of_mpi(type), 2);
    for (int commutes = 0; commutes < 2; commutes++) {
        MPI_Op op;
        norn_token token;
        MPI_Op_create(commutes ? sums : behind, commutes, &op);
        given[0] = given[2] = rank + 1, given[1] = given[3] = 10;
        CHECK(norn_allreduce(world, &from, &to, norn_op_of_mpi(op), NULL, &token) == NORN_OK);
        CHECK(norn_await(rt, token, -1) == NORN_OK);
        CHECK(got[0] == (commutes ? size * (size + 1) / 2.0 : in_order) && got[2] == got[0] && got[3] == got[1]);
        MPI_Op_free(&op);
    }
    MPI_Type_free(&type);
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(norn_open(NULL, &rt) == NORN_OK);
    communicators();
    CHECK(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world) == NORN_OK);
    datatypes();
    operations();
    operations_of_the_application();
    norn_token token;
    CHECK(norn_barrier(world, NULL, &token) == NORN_OK && norn_await(rt, token, -1) == NORN_OK);
    CHECK(norn_close(rt) == NORN_OK);
    MPI_Finalize();
    if (rank == 0) printf("bad handles: ok\n");
    return 0;
}
