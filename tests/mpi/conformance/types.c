/*
 * Types and operations, and types of memory that is not contiguous.
 */
#define _GNU_SOURCE
#include <string.h>

#include "conformance.h"

static void predefined_types_have_their_sizes(void) {
    static const int sizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 16};
    int32_t handle = 77;
    norn_mpi_type_info info;
    for (int32_t i = NORN_BYTE; i <= NORN_C128; i++) {
        OK(mpi->type_builtin(i, &handle));
        OK(mpi->type_info(comm, handle, &info));
        MUST(info.size == sizes[i] && info.extent == sizes[i] && info.true_lb == 0 && info.true_extent == sizes[i],
             "type %d has %lld", (int)i, (long long)info.size);
    }
    handle = 77;
    MUST(mpi->type_builtin(-1, &handle) == NORN_MPI_INVALID, "-1");
    MUST(mpi->type_builtin(1000, &handle) == NORN_MPI_INVALID && handle == 77, "1000");
    for (int32_t i = NORN_SUM; i <= NORN_BXOR; i++) OK(mpi->op_builtin(i, &handle));
    MUST(mpi->op_builtin(1000, &handle) == NORN_MPI_INVALID, "1000");
}

static void bad_types_are_refused(void) {
    norn_mpi_type_info info = {-5, -5, -5, -5};
    int32_t bad[] = {integer_of_type(MPI_DATATYPE_NULL), 0x7ffffff, -3, INT32_MIN, 12345}, handle = 7, slot = 7;
    char byte = 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int32_t code = mpi->type_info(comm, bad[i], &info);
        MUST(code == NORN_MPI_INVALID && info.size == -5, "integer %d gives %d", (int)bad[i], (int)code);
    }
    MUST(mpi->type_blocks(bad[0], 1, 1, 1, 1, 1, &handle) == NORN_MPI_INVALID, "blocks of none");
    MUST(mpi->type_blocks(type_of(NORN_BYTE), -1, 1, 1, 1, 1, &handle) == NORN_MPI_INVALID, "count -1");
    MUST(mpi->type_blocks(type_of(NORN_BYTE), 1, -1, 1, 1, 1, &handle) == NORN_MPI_INVALID, "blocks -1");
    MUST(mpi->type_blocks(type_of(NORN_BYTE), 1, 1, 1, -1, 1, &handle) == NORN_MPI_INVALID && handle == 7, "planes -1");
    MUST(mpi->isend(set, &byte, 1, bad[0], rank, 0, comm, 0, &slot) == NORN_MPI_INVALID && slot == 7, "send");
    MUST(mpi->irecv(set, &byte, 1, bad[0], rank, 0, comm, 0, &slot) == NORN_MPI_INVALID && slot == 7, "receive");
    MUST(mpi->isend(set, &byte, -1, type_of(NORN_BYTE), rank, 0, comm, 0, &slot) == NORN_MPI_INVALID, "count -1");
}

static void a_type_that_is_not_committed_is_told_with_mpis_text(void) {
    norn_mpi_type_info info = {-5, -5, -5, -5};
    MPI_Datatype types[2];
    MPI_Type_contiguous(3, MPI_DOUBLE, &types[0]);
    MPI_Type_vector(2, 1, 3, MPI_DOUBLE, &types[1]);
    for (int i = 0; i < 2; i++) {
        int32_t code = mpi->type_info(comm, integer_of_type(types[i]), &info);
        MUST(code > 0 && info.size == -5, "type %d gives %d", i, (int)code);
        MUST(strcasestr(text_of(code), "type") != NULL, "text \"%s\"", text_of(code));
        MPI_Type_commit(&types[i]);
        OK(mpi->type_info(comm, integer_of_type(types[i]), &info));
        MUST(info.size == (i == 0 ? 24 : 16), "size %lld", (long long)info.size);
        info.size = -5;
        MPI_Type_free(&types[i]);
    }
}

static int op_calls;
static void an_operation(void *in, void *out, int *count, MPI_Datatype *type) {
    (void)in, (void)out, (void)count, (void)type;
    op_calls++;
}

static void operations_go_with_some_types(void) {
    const int32_t pair = integer_of_type(MPI_DOUBLE_INT), maxloc = integer_of_op(MPI_MAXLOC);
    const struct {
        int32_t op, type;
        int good;
    } cases[] = {
        {op_of(NORN_SUM), type_of(NORN_F64), 1},  {op_of(NORN_BXOR), type_of(NORN_BYTE), 1},
        {op_of(NORN_PROD), type_of(NORN_C128), 1}, {op_of(NORN_LAND), type_of(NORN_I32), 1},
        {maxloc, pair, 1},                         {maxloc, type_of(NORN_F64), 0},
        {op_of(NORN_SUM), pair, 0},                {op_of(NORN_BAND), type_of(NORN_F64), 0},
        {op_of(NORN_LAND), type_of(NORN_F32), 0},  {op_of(NORN_LXOR), type_of(NORN_F64), 0},
        {op_of(NORN_MAX), type_of(NORN_C64), 0},   {integer_of_op(MPI_REPLACE), type_of(NORN_F64), 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t code = mpi->op_check(cases[i].op, cases[i].type);
        MUST(cases[i].good ? code == 0 : code > 0, "case %d gives %d, %s", (int)i, (int)code, text_of(code));
        if (code != 0) MUST(strcasestr(text_of(code), "op") != NULL, "text \"%s\"", text_of(code));
    }
    MUST(mpi->op_check(integer_of_op(MPI_OP_NULL), type_of(NORN_F64)) == NORN_MPI_INVALID, "MPI_OP_NULL");
    MUST(mpi->op_check(op_of(NORN_SUM), integer_of_type(MPI_DATATYPE_NULL)) == NORN_MPI_INVALID, "MPI_DATATYPE_NULL");
    MUST(mpi->op_check(12345, type_of(NORN_F64)) != 0, "12345");
}

static void operations_of_the_application_take_any_committed_type(void) {
    MPI_Datatype type;
    MPI_Type_contiguous(3, MPI_DOUBLE, &type);
    for (int commutes = 0; commutes < 2; commutes++) {
        MPI_Op op;
        MPI_Op_create(an_operation, commutes, &op);
        int32_t before = mpi->op_check(integer_of_op(op), integer_of_type(type));
        int32_t plain = mpi->op_check(integer_of_op(op), type_of(NORN_F64));
        MPI_Type_commit(&type);
        int32_t after = mpi->op_check(integer_of_op(op), integer_of_type(type));
        MPI_Op_free(&op);
        MUST(before > 0 || commutes, "not committed: %d", (int)before);
        MUST(plain == 0 && after == 0 && op_calls == 0, "%d, %d, %d calls", (int)plain, (int)after, op_calls);
    }
    MPI_Type_free(&type);
}

/* Sends `type` once out of `from` and receives it packed as doubles. */
static void sends_packed(int32_t type, const double *from, double *to, int64_t count) {
    int32_t slots[2];
    norn_mpi_done done[2];
    OK(mpi->irecv(set, to, count, type_of(NORN_F64), rank, 9, comm, 1, &slots[0]));
    OK(mpi->isend(set, from, 1, type, rank, 9, comm, 2, &slots[1]));
    OK(mpi->type_free(type)); /* pending requests keep it */
    OK(finish_all(slots, 2, done));
    for (int i = 0; i < 2; i++) MUST(done[i].outcome == NORN_MPI_DONE, "outcome %d", (int)done[i].outcome);
}

static void blocks_and_planes_take_the_right_elements(void) {
    double from[1000], to[1000];
    int32_t type;
    norn_mpi_type_info info;
    for (int i = 0; i < 1000; i++) from[i] = i;
    OK(mpi->type_blocks(type_of(NORN_F64), 3, 4, 10, 2, 100, &type));
    OK(mpi->type_info(comm, type, &info));
    MUST(info.size == 3 * 4 * 2 * 8 && info.true_lb == 0 && info.true_extent == (100 + 3 * 10 + 3) * 8,
         "size %lld true extent %lld", (long long)info.size, (long long)info.true_extent);
    sends_packed(type, from, to, 24);
    if (failures) return;
    for (int i = 0; i < 24; i++) {
        double right = i / 12 * 100 + i / 3 % 4 * 10 + i % 3;
        MUST(to[i] == right, "element %d is %g, not %g", i, to[i], right);
    }
    /* Backwards. */
    OK(mpi->type_blocks(type_of(NORN_F64), 2, 3, -7, 1, 0, &type));
    sends_packed(type, from + 500, to, 6);
    if (failures) return;
    for (int i = 0; i < 6; i++) MUST(to[i] == 500 - i / 2 * 7 + i % 2, "element %d is %g", i, to[i]);
    /* Nothing. */
    OK(mpi->type_blocks(type_of(NORN_F64), 5, 0, 7, 1, 0, &type));
    sends_packed(type, from, to, 0);
}

static void blocks_of_a_type_of_the_application(void) {
    MPI_Datatype pair;
    double from[40], to[40];
    int32_t type;
    for (int i = 0; i < 40; i++) from[i] = i;
    /* One double out of two. */
    MPI_Type_create_resized(MPI_DOUBLE, 0, 2 * (MPI_Aint)sizeof(double), &pair);
    MPI_Type_commit(&pair);
    OK(mpi->type_blocks(integer_of_type(pair), 2, 3, 5, 1, 0, &type));
    MPI_Type_free(&pair);
    sends_packed(type, from, to, 6);
    if (failures) return;
    for (int i = 0; i < 6; i++) MUST(to[i] == i / 2 * 10 + i % 2 * 2, "element %d is %g", i, to[i]);
}

static void huge_types_can_be_described(void) {
    norn_mpi_type_info info;
    int32_t type;
    const int64_t count = (INT64_C(1) << 31) + 7;
    OK(mpi->type_blocks(type_of(NORN_F64), count, 1, 1, 1, 1, &type));
    OK(mpi->type_info(comm, type, &info));
    MUST(info.size == 8 * count && info.true_extent == 8 * count && info.extent == 8 * count, "size %lld",
         (long long)info.size);
    OK(mpi->type_free(type));
    OK(mpi->type_blocks(type_of(NORN_I8), 1, count, 3, 1, 1, &type));
    OK(mpi->type_info(comm, type, &info));
    MUST(info.size == count && info.true_extent == 3 * (count - 1) + 1, "size %lld true extent %lld",
         (long long)info.size, (long long)info.true_extent);
    OK(mpi->type_free(type));
    MUST(mpi->type_blocks(type_of(NORN_F64), 1, 2, INT64_MAX / 2, 1, 1, &type) == NORN_MPI_TOO_LARGE, "stride");
    MUST(mpi->type_blocks(type_of(NORN_I8), INT64_MAX, 1, 1, 1, 1, &type) == NORN_MPI_TOO_LARGE, "count");
}

const struct check type_checks[] = {
    CHECK(predefined_types_have_their_sizes, ALWAYS),
    CHECK(bad_types_are_refused, ALWAYS),
    CHECK(a_type_that_is_not_committed_is_told_with_mpis_text, ALWAYS),
    CHECK(operations_go_with_some_types, ALWAYS),
    CHECK(operations_of_the_application_take_any_committed_type, ALWAYS),
    CHECK(blocks_and_planes_take_the_right_elements, ALWAYS),
    CHECK(blocks_of_a_type_of_the_application, ALWAYS),
    CHECK(huge_types_can_be_described, ALWAYS),
    {NULL, NULL, ALWAYS},
};
