/*
 * Communicators: what is told of them, and duplicates.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static void communicators_are_fortran_integers(void) {
    norn_mpi_comm_info info;
    MPI_Comm part;
    OK(mpi->comm_info(integer_of(MPI_COMM_WORLD), &info));
    MUST(info.rank == rank && info.size == size, "rank %d of %d", (int)info.rank, (int)info.size);
    MUST(info.tag_ub >= 32767 && info.inter == 0, "tag_ub %d inter %d", (int)info.tag_ub, (int)info.inter);
    OK(mpi->comm_info(integer_of(MPI_COMM_SELF), &info));
    MUST(info.rank == 0 && info.size == 1, "rank %d of %d", (int)info.rank, (int)info.size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);
    int part_rank, part_size;
    MPI_Comm_rank(part, &part_rank);
    MPI_Comm_size(part, &part_size);
    int32_t code = mpi->comm_info(integer_of(part), &info);
    MPI_Comm_free(&part);
    OK(code);
    MUST(info.rank == part_rank && info.size == part_size, "rank %d of %d", (int)info.rank, (int)info.size);
}

static void bad_communicators_are_refused(void) {
    norn_mpi_comm_info info = {-5, -5, -5, -5};
    int32_t bad[] = {integer_of(MPI_COMM_NULL), 0x7ffffff, -3, 0x44ffffff, INT32_MIN, 12345};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int32_t code = mpi->comm_info(bad[i], &info);
        MUST(code == NORN_MPI_INVALID, "integer %d gives %d", (int)bad[i], (int)code);
        MUST(info.rank == -5, "written");
    }
}

static void error_handlers_of_the_application_stay(void) {
    MPI_Errhandler self, all;
    norn_mpi_comm_info info;
    char text[64];
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    mpi->comm_info(-3, &info);
    mpi->error_text(INT32_MAX, text, sizeof text);
    MPI_Comm_get_errhandler(MPI_COMM_SELF, &self);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &all);
    int same = self == MPI_ERRORS_ARE_FATAL && all == MPI_ERRORS_RETURN;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&self);
    MPI_Errhandler_free(&all);
    MUST(same, "changed");
}

static int attribute_copies, attribute_deletes;
static int copy_attribute(MPI_Comm from, int key, void *state, void *in, void *out, int *flag) {
    (void)from, (void)key, (void)state, (void)in, (void)out;
    attribute_copies++;
    *flag = 0;
    return MPI_SUCCESS;
}
static int delete_attribute(MPI_Comm from, int key, void *value, void *state) {
    (void)from, (void)key, (void)value, (void)state;
    attribute_deletes++;
    return MPI_SUCCESS;
}

static int hinted(MPI_Info info, const char *key) {
    char value[16] = "";
    int length = (int)sizeof value, there = 0;
#if MPI_VERSION >= 4
    MPI_Info_get_string(info, key, &length, value, &there);
#else
    MPI_Info_get(info, key, length - 1, value, &there);
#endif
    return there && strcmp(value, "true") == 0;
}

static void duplicates_have_no_hints(void) {
    /* With the last of them Open MPI 4.1 cannot duplicate a communicator itself: its own messages overtake. */
    static const char *const hints[] = {"mpi_assert_exact_length", "mpi_assert_no_any_tag", "mpi_assert_allow_overtaking"};
    int count = strcmp(mpi->family, "openmpi") == 0 ? 2 : 3, left = 0;
    MPI_Info info;
    MPI_Comm app;
    int32_t slot;
    norn_mpi_done done;
    MPI_Comm_dup(MPI_COMM_WORLD, &app);
    MPI_Info_create(&info);
    for (int i = 0; i < count; i++) MPI_Info_set(info, hints[i], "true");
    MPI_Comm_set_info(app, info);
    MPI_Info_free(&info);
    int32_t code = mpi->comm_idup(set, integer_of(app), 5, &slot);
    if (code == 0) code = finish(slot, &done);
    OK(code);
    MUST(done.user == 5 && done.comm != 0, "comm %d", (int)done.comm);
    MPI_Comm_get_info(comm_of(done.comm), &info);
    for (int i = 0; i < count; i++) left += hinted(info, hints[i]) << i;
    MPI_Info_free(&info);
    OK(mpi->comm_free(done.comm));
    MPI_Comm_free(&app);
    MUST(left == 0, "hints %d", left);
}

static void duplicating_runs_the_attributes_of_the_application(void) {
    MPI_Comm app;
    int key;
    norn_mpi_done done;
    int32_t slot;
    MPI_Comm_dup(MPI_COMM_WORLD, &app);
    MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, NULL);
    MPI_Comm_set_attr(app, key, NULL);
    attribute_copies = 0;
    int32_t code = mpi->comm_idup(set, integer_of(app), 0, &slot);
    if (code == 0) code = finish(slot, &done);
    if (code == 0) code = mpi->comm_free(done.comm);
    int copies = attribute_copies, deletes = attribute_deletes;
    MPI_Comm_free(&app);
    MPI_Comm_free_keyval(&key);
    OK(code);
    MUST(copies == 1 && deletes == 0, "%d copies, %d deletes", copies, deletes);
}

static void thousands_of_duplicates_one_after_the_other(void) {
    /* MPICH has 2048 of them. Open MPI's are slow to make, and have no such limit. */
    int rounds = size > 1 && strcmp(mpi->family, "openmpi") == 0 ? 300 : 3000;
    for (int i = 0; i < rounds; i++) {
        int32_t slot;
        norn_mpi_done done;
        OK(mpi->comm_idup(set, comm, (uint64_t)i, &slot));
        OK(finish(slot, &done));
        MUST(done.outcome == NORN_MPI_DONE && done.error == 0, "outcome %d in round %d", (int)done.outcome, i);
        OK(mpi->comm_free(done.comm));
    }
}

static void running_out_of_communicators_is_an_error_code(void) {
    enum { MOST = 70000 };
    int32_t *made = malloc(MOST * sizeof *made);
    int count = 0;
    int32_t code = 0;
    norn_mpi_done done = {0};
    /* Open MPI has room for as many as there is memory. */
    int most = strcmp(mpi->family, "openmpi") == 0 ? 3000 : MOST;
    while (count < most) {
        int32_t slot;
        code = mpi->comm_idup(set, comm, 0, &slot);
        if (code != 0) break;
        code = finish(slot, &done);
        if (code != 0 || done.outcome != NORN_MPI_DONE) break;
        made[count++] = done.comm;
    }
    for (int i = 0; i < count; i++) mpi->comm_free(made[i]);
    free(made);
    MUST(count >= 1000, "only %d", count);
    MUST(count == most || (code > 0 || done.outcome == NORN_MPI_FAILED), "code %d", (int)code);
}

const struct check communicator_checks[] = {
    CHECK(communicators_are_fortran_integers, ALWAYS),
    CHECK(bad_communicators_are_refused, ALWAYS),
    CHECK(error_handlers_of_the_application_stay, ALWAYS),
    CHECK(duplicates_have_no_hints, ALWAYS),
    CHECK(duplicating_runs_the_attributes_of_the_application, ALWAYS),
    CHECK(thousands_of_duplicates_one_after_the_other, ALWAYS),
    CHECK(running_out_of_communicators_is_an_error_code, WITH_LARGE),
    {NULL, NULL, ALWAYS},
};
