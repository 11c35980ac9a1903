/*
 * What every plug-in must do, tested through its table alone, as norn's core
 * uses it. Any number of ranks; rank 0 prints one line a test.
 *
 *   mpirun -n N conformance PLUGIN
 *
 * MPI itself is called here only to begin, to end, and to play the application.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "norn.h"
#include "norn_mpi_plugin.h"

static const norn_mpi_table *mpi;
static norn_mpi_requests *set;
static int32_t comm; /* the duplicate, as norn would use it */
static int rank, size, number, failures, failed_tests;
static char why[1024];

/* Keeps what went wrong first. */
__attribute__((format(printf, 3, 4))) static void note(int line, const char *condition, const char *format, ...) {
    char more[600];
    va_list arguments;
    if (failures++ > 0) return;
    va_start(arguments, format);
    vsnprintf(more, sizeof more, format, arguments);
    va_end(arguments);
    snprintf(why, sizeof why, "line %d: %.150s: %.700s", line, condition, more);
}

/* A condition that must hold, or the test ends. */
#define MUST(condition, ...)                              \
    do {                                                  \
        if (!(condition)) {                               \
            note(__LINE__, #condition, __VA_ARGS__);      \
            return;                                       \
        }                                                 \
    } while (0)

/* A call of the table that must succeed. */
#define OK(call) MUST((last_code = (call)) == 0, "code %d, %s", (int)last_code, text_of(last_code))

static int32_t last_code;
static const char *text_of(int32_t code) {
    static char text[512];
    if (mpi->error_text(code, text, sizeof text) != 0) text[0] = 0;
    return text;
}

/* --- helpers ----------------------------------------------------------------------------------------------------- */

static int32_t type_of(norn_type number_of_type) {
    int32_t handle = NORN_MPI_NO_HANDLE;
    if (mpi->type_builtin((int32_t)number_of_type, &handle) != 0) return NORN_MPI_NO_HANDLE;
    return handle;
}

static int32_t op_of(norn_op number_of_op) {
    int32_t handle = NORN_MPI_NO_HANDLE;
    if (mpi->op_builtin((int32_t)number_of_op, &handle) != 0) return NORN_MPI_NO_HANDLE;
    return handle;
}

/* Tests one slot until it is done; gives up after a minute. */
static int32_t finish(int32_t slot, norn_mpi_done *done) {
    double end = MPI_Wtime() + 60;
    int32_t count = 0, code = 0;
    while (code == 0 && count == 0 && MPI_Wtime() < end) code = mpi->test(set, &slot, 1, done, &count);
    return code != 0 ? code : count == 1 ? 0 : -1000;
}

/* Tests `count` slots together until all are done; `done` in the order of completion. */
static int32_t finish_all(const int32_t *slots, int32_t count, norn_mpi_done *done) {
    double end = MPI_Wtime() + 60;
    int32_t total = 0, some, code = 0;
    while (code == 0 && total < count && MPI_Wtime() < end) {
        code = mpi->test(set, slots, count, done + total, &some);
        if (code == 0) total += some;
    }
    return code != 0 ? code : total == count ? 0 : -1000;
}

static void run(const char *name, void (*test)(void)) {
    int all = 0, first = rank;
    failures = 0;
    why[0] = 0;
    test();
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    number++;
    if (all != 0) {
        failed_tests++;
        int mine = failures != 0 ? rank : size;
        MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        MPI_Bcast(why, sizeof why, MPI_CHAR, first, MPI_COMM_WORLD);
    }
    if (rank == 0) {
        printf("%s %d - %s\n", all == 0 ? "ok" : "not ok", number, name);
        if (all != 0) printf("    rank %d, %s\n", first, why);
        fflush(stdout);
    }
}

/* --- the library ------------------------------------------------------------------------------------------------- */

static void describes_itself(void) {
    char text[256] = "";
    int32_t now = -1, level = -1, main_thread = -1, r = -1, s = -1;
    MUST(mpi->version == NORN_MPI_TABLE_VERSION, "version %u", mpi->version);
    MUST(mpi->struct_size == sizeof *mpi, "%u bytes", mpi->struct_size);
    MUST(mpi->family[0] != 0 && mpi->built_for[0] != 0, "empty");
    OK(mpi->state(&now));
    MUST(now == NORN_MPI_ACTIVE, "state %d", (int)now);
    OK(mpi->library_text(text, sizeof text));
    MUST(strlen(text) > 3 && strchr(text, '\n') == NULL, "text \"%s\"", text);
    OK(mpi->thread(comm, &level, &main_thread));
    MUST(level >= NORN_MPI_THREAD_SINGLE && level <= NORN_MPI_THREAD_MULTIPLE, "level %d", (int)level);
    MUST(main_thread == 1, "main %d", (int)main_thread);
    OK(mpi->world(comm, &r, &s));
    MUST(r == rank && s == size, "rank %d of %d", (int)r, (int)s);
}

static void texts_are_cut_to_size(void) {
    char text[8] = "xxxxxxx";
    OK(mpi->library_text(text, 4));
    MUST(strlen(text) == 3 && text[4] == 'x', "text \"%s\"", text);
    OK(mpi->error_text(NORN_MPI_INVALID, text, 5));
    MUST(strlen(text) == 4, "text \"%s\"", text);
    text[0] = 'x';
    OK(mpi->error_text(NORN_MPI_INVALID, text, 0));
    MUST(text[0] == 'x', "written");
}

static void errors_have_texts(void) {
    char text[512];
    for (int32_t code = NORN_MPI_BUSY; code <= 0; code++) {
        text[0] = 0;
        OK(mpi->error_text(code, text, sizeof text));
        MUST(text[0] != 0, "code %d", (int)code);
    }
    OK(mpi->error_text(INT32_MAX, text, sizeof text));
    MUST(text[0] != 0, "empty");
    OK(mpi->error_text(-77, text, sizeof text));
    MUST(text[0] != 0, "empty");
}

static void says_whether_device_aware(void) {
    char reason[256] = "";
    int32_t answer = -7;
    OK(mpi->device_aware(&answer, reason, sizeof reason));
    MUST(answer >= -1 && answer <= 1, "answer %d", (int)answer);
    MUST(strlen(reason) > 5, "reason \"%s\"", reason);
}

/* --- communicators ----------------------------------------------------------------------------------------------- */

static int32_t integer_of_world(void) {
#ifdef CONFORMANCE_TOINT
    return MPI_Comm_toint(MPI_COMM_WORLD);
#else
    return (int32_t)MPI_Comm_c2f(MPI_COMM_WORLD);
#endif
}

static int32_t integer_of(MPI_Comm of) {
#ifdef CONFORMANCE_TOINT
    return MPI_Comm_toint(of);
#else
    return (int32_t)MPI_Comm_c2f(of);
#endif
}

static MPI_Comm comm_of(int32_t integer) {
#ifdef CONFORMANCE_TOINT
    return MPI_Comm_fromint(integer);
#else
    return MPI_Comm_f2c((MPI_Fint)integer);
#endif
}

static int32_t integer_of_type(MPI_Datatype of) {
#ifdef CONFORMANCE_TOINT
    return MPI_Type_toint(of);
#else
    return (int32_t)MPI_Type_c2f(of);
#endif
}

static void communicators_are_fortran_integers(void) {
    norn_mpi_comm_info info;
    MPI_Comm part;
    OK(mpi->comm_info(integer_of_world(), &info));
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

/* --- types ------------------------------------------------------------------------------------------------------- */

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

/* --- messages ---------------------------------------------------------------------------------------------------- */

static int next(void) { return (rank + 1) % size; }
static int previous(void) { return (rank + size - 1) % size; }

static void messages_of_many_sizes_around_the_ring(void) {
    static const int64_t sizes[] = {0, 1, 8, 1000, 65536, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t bytes = sizes[i];
        char *out = malloc((size_t)bytes + 1), *in = malloc((size_t)bytes + 1);
        int32_t slots[2];
        norn_mpi_done done[2];
        memset(out, rank + 1, (size_t)bytes + 1);
        memset(in, 0, (size_t)bytes + 1);
        int32_t code = mpi->irecv(set, in, bytes, type_of(NORN_BYTE), previous(), (int32_t)i, comm, 11, &slots[0]);
        if (code == 0) code = mpi->isend(set, out, bytes, type_of(NORN_BYTE), next(), (int32_t)i, comm, 22, &slots[1]);
        if (code == 0) code = finish_all(slots, 2, done);
        int right = 1;
        for (int64_t k = 0; k < bytes; k++) right &= in[k] == previous() + 1;
        right &= in[bytes] == 0;
        free(out);
        free(in);
        OK(code);
        MUST(right, "%lld bytes arrived wrong", (long long)bytes);
        for (int k = 0; k < 2; k++) {
            MUST(done[k].outcome == NORN_MPI_DONE && done[k].error == 0, "outcome %d", (int)done[k].outcome);
            if (done[k].user == 22) {
                MUST(done[k].bytes == NORN_MPI_UNDEFINED && done[k].slot == slots[1], "send");
            } else {
                MUST(done[k].user == 11 && done[k].slot == slots[0], "slot %d", (int)done[k].slot);
                MUST(done[k].bytes == bytes && done[k].source == previous() && done[k].tag == (int32_t)i,
                     "%lld bytes from %d with tag %d", (long long)done[k].bytes, (int)done[k].source, (int)done[k].tag);
            }
        }
    }
}

static void null_buffers_may_be_sent_with_no_bytes(void) {
    int32_t slots[2];
    norn_mpi_done done[2];
    OK(mpi->irecv(set, NULL, 0, type_of(NORN_BYTE), previous(), 3, comm, 0, &slots[0]));
    OK(mpi->isend(set, NULL, 0, type_of(NORN_BYTE), next(), 3, comm, 0, &slots[1]));
    OK(finish_all(slots, 2, done));
}

static void any_source_and_any_tag(void) {
    int32_t slots[2], value = 100 + rank, got = 0;
    norn_mpi_done done[2];
    OK(mpi->irecv(set, &got, 1, type_of(NORN_I32), NORN_MPI_ANY, NORN_MPI_ANY, comm, 1, &slots[0]));
    OK(mpi->isend(set, &value, 1, type_of(NORN_I32), next(), 31, comm, 2, &slots[1]));
    OK(finish_all(slots, 2, done));
    const norn_mpi_done *received = done[0].user == 1 ? &done[0] : &done[1];
    MUST(received->source == previous() && received->tag == 31 && got == 100 + previous(), "%d from %d, tag %d", got,
         (int)received->source, (int)received->tag);
}

static void the_largest_tag_works(void) {
    norn_mpi_comm_info info;
    int32_t slots[2];
    norn_mpi_done done[2];
    char out = 1, in = 0;
    OK(mpi->comm_info(comm, &info));
    OK(mpi->irecv(set, &in, 1, type_of(NORN_BYTE), previous(), info.tag_ub, comm, 0, &slots[0]));
    OK(mpi->isend(set, &out, 1, type_of(NORN_BYTE), next(), info.tag_ub, comm, 0, &slots[1]));
    OK(finish_all(slots, 2, done));
    MUST(in == 1, "nothing came");
}

static void bad_ranks_and_tags_are_error_codes(void) {
    char byte = 0, text[512];
    int32_t slot = 77;
    int32_t code = mpi->isend(set, &byte, 1, type_of(NORN_BYTE), size, 0, comm, 0, &slot);
    MUST(code > 0 && slot == 77, "rank %d gives %d", size, (int)code);
    OK(mpi->error_text(code, text, sizeof text));
    MUST(strcasestr(text, "rank") != NULL, "text \"%s\"", text);
    code = mpi->irecv(set, &byte, 1, type_of(NORN_BYTE), -77, 0, comm, 0, &slot);
    MUST(code > 0 && slot == 77, "rank -77 gives %d", (int)code);
    code = mpi->isend(set, &byte, 1, type_of(NORN_BYTE), rank, -77, comm, 0, &slot);
    MUST(code > 0 && slot == 77, "tag -77 gives %d", (int)code);
}

static void a_type_that_was_not_committed_is_an_error_code(void) {
    MPI_Datatype type;
    char bytes[4] = {0};
    int32_t slot = 77;
    MPI_Type_contiguous(4, MPI_BYTE, &type);
    int32_t code = mpi->isend(set, bytes, 1, integer_of_type(type), rank, 0, comm, 0, &slot);
    MPI_Type_free(&type);
    MUST(code > 0 && slot == 77, "gives %d", (int)code);
}

/*
 * 8 bytes for a buffer of 4, with `others` more requests tested in the same go.
 * Open MPI says nothing of it where a small message to the rank itself finds
 * its receive posted; norn knows both sides there.
 */
static void truncated(int others) {
    if (size == 1 && strcmp(mpi->family, "openmpi") == 0) return;
    int32_t slots[64], some;
    char out[8] = {1, 2, 3, 4, 5, 6, 7, 8}, in[8] = {0}, text[512], unused;
    norn_mpi_done done[64], found = {0};
    for (int i = 0; i < others; i++) {
        OK(mpi->irecv(set, &unused, 1, type_of(NORN_BYTE), rank, 1000 + i, comm, 50, &slots[2 + i]));
    }
    OK(mpi->irecv(set, in, 4, type_of(NORN_BYTE), previous(), 4, comm, 1, &slots[0]));
    OK(mpi->isend(set, out, 8, type_of(NORN_BYTE), next(), 4, comm, 2, &slots[1]));
    if (others == 0) {
        OK(finish(slots[0], &found));
        OK(finish(slots[1], &done[0]));
    } else {
        int left = 2;
        for (double end = MPI_Wtime() + 60; left > 0 && MPI_Wtime() < end;) {
            OK(mpi->test(set, slots, 2 + others, done, &some));
            for (int i = 0; i < some; i++, left--) {
                if (done[i].user == 1) found = done[i];
            }
        }
        MUST(left == 0, "%d left", left);
    }
    MUST(found.user == 1 && found.outcome == NORN_MPI_TRUNCATED && found.error > 0, "outcome %d error %d",
         (int)found.outcome, (int)found.error);
    MUST(found.tag == 4, "tag %d", (int)found.tag);
    MUST(in[4] == 0, "written behind the buffer");
    OK(mpi->error_text(found.error, text, sizeof text));
    MUST(strcasestr(text, "truncat") != NULL, "text \"%s\"", text);
    for (int i = 0; i < others; i++) {
        OK(mpi->cancel(set, slots[2 + i]));
        OK(finish(slots[2 + i], &done[0]));
        MUST(done[0].outcome == NORN_MPI_CANCELLED && done[0].user == 50, "outcome %d", (int)done[0].outcome);
    }
}

static void truncation_tested_alone(void) { truncated(0); }
static void truncation_tested_among_others(void) { truncated(5); }
static void truncation_tested_in_a_window(void) { truncated(60); }

static void one_byte_where_none_was_expected(void) {
    int32_t slots[2];
    char byte = 1;
    norn_mpi_done done[2];
    OK(mpi->irecv(set, NULL, 0, type_of(NORN_BYTE), previous(), 5, comm, 1, &slots[0]));
    OK(mpi->isend(set, &byte, 1, type_of(NORN_BYTE), next(), 5, comm, 2, &slots[1]));
    OK(finish_all(slots, 2, done));
    for (int i = 0; i < 2; i++) {
        int right = done[i].user == 1 ? NORN_MPI_TRUNCATED : NORN_MPI_DONE;
        MUST(done[i].outcome == right, "outcome %d of %d", (int)done[i].outcome, (int)done[i].user);
    }
}

static void nothing_where_bytes_were_expected(void) {
    int32_t slots[2];
    char in[16];
    norn_mpi_done done[2];
    OK(mpi->irecv(set, in, 16, type_of(NORN_BYTE), previous(), 6, comm, 1, &slots[0]));
    OK(mpi->isend(set, NULL, 0, type_of(NORN_BYTE), next(), 6, comm, 2, &slots[1]));
    OK(finish_all(slots, 2, done));
    const norn_mpi_done *received = done[0].user == 1 ? &done[0] : &done[1];
    MUST(received->outcome == NORN_MPI_DONE && received->bytes == 0, "%lld bytes", (long long)received->bytes);
}

static void a_receive_can_be_cancelled(void) {
    char in = 7;
    int32_t slot;
    norn_mpi_done done;
    OK(mpi->irecv(set, &in, 1, type_of(NORN_BYTE), rank, 7, comm, 9, &slot));
    OK(mpi->cancel(set, slot));
    OK(mpi->cancel(set, slot));
    OK(finish(slot, &done));
    MUST(done.outcome == NORN_MPI_CANCELLED && done.user == 9 && done.error == 0 && in == 7, "outcome %d",
         (int)done.outcome);
    MUST(mpi->cancel(set, slot) == NORN_MPI_INVALID, "a free slot");
    MUST(mpi->cancel(set, -1) == NORN_MPI_INVALID && mpi->cancel(set, 1 << 30) == NORN_MPI_INVALID, "no slot");
}

static void a_cancel_loses_no_message(void) {
    char in = 0, out = 5;
    int32_t slots[2];
    norn_mpi_done done;
    OK(mpi->irecv(set, &in, 1, type_of(NORN_BYTE), rank, 7, comm, 9, &slots[0]));
    OK(mpi->isend(set, &out, 1, type_of(NORN_BYTE), rank, 7, comm, 8, &slots[1]));
    MUST(mpi->cancel(set, slots[1]) == NORN_MPI_INVALID, "a send");
    OK(finish(slots[1], &done));
    OK(mpi->cancel(set, slots[0]));
    OK(finish(slots[0], &done));
    if (done.outcome == NORN_MPI_CANCELLED) {
        /* It was still on its way. Then it is not lost. */
        OK(mpi->irecv(set, &in, 1, type_of(NORN_BYTE), rank, 7, comm, 9, &slots[0]));
        OK(finish(slots[0], &done));
    }
    MUST(done.outcome == NORN_MPI_DONE && done.bytes == 1 && in == 5, "outcome %d", (int)done.outcome);
}

static void a_probe_tells_source_tag_and_size(void) {
    int32_t slot, found = 0, code = 0, nothing = 7;
    norn_mpi_done message = {0}, done;
    double out[3] = {1, 2, 3}, in[3];
    OK(mpi->iprobe(NORN_MPI_ANY, 12345, comm, &nothing, &message));
    MUST(nothing == 0, "found a message");
    OK(mpi->isend(set, out, 3, type_of(NORN_F64), next(), 41, comm, 0, &slot));
    for (double end = MPI_Wtime() + 60; code == 0 && !found && MPI_Wtime() < end;) {
        code = mpi->iprobe(NORN_MPI_ANY, NORN_MPI_ANY, comm, &found, &message);
    }
    OK(code);
    MUST(found == 1 && message.source == previous() && message.tag == 41 && message.bytes == 24 && message.slot == -1,
         "%lld bytes", (long long)message.bytes);
    int32_t other;
    OK(mpi->irecv(set, in, 3, type_of(NORN_F64), message.source, message.tag, comm, 0, &other));
    OK(finish(other, &done));
    OK(finish(slot, &done));
    MUST(in[2] == 3, "wrong data");
}

/* The application's wildcards and norn's messages do not meet. */
static void the_traffic_of_the_application_is_its_own(void) {
    int32_t slots[2];
    char in = 0, out = 3, app_in = 0, app_out = 4;
    norn_mpi_done done[2];
    MPI_Request request;
    MPI_Irecv(&app_in, 1, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    OK(mpi->irecv(set, &in, 1, type_of(NORN_BYTE), NORN_MPI_ANY, NORN_MPI_ANY, comm, 0, &slots[0]));
    OK(mpi->isend(set, &out, 1, type_of(NORN_BYTE), next(), 0, comm, 0, &slots[1]));
    OK(finish_all(slots, 2, done));
    MPI_Send(&app_out, 1, MPI_CHAR, next(), 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MUST(in == 3 && app_in == 4, "%d and %d", in, app_in);
}

/* Same pair of ranks, same tag: in the order of posting, whatever the sizes. */
static void messages_do_not_overtake(void) {
    enum { MANY = 200 };
    int32_t slots[2 * MANY];
    static norn_mpi_done done[2 * MANY];
    static int in[MANY][5000], out[MANY][5000];
    for (int i = 0; i < MANY; i++) {
        int64_t count = i % 3 == 0 ? 5000 : 1;
        out[i][0] = 1000 * rank + i;
        OK(mpi->irecv(set, in[i], 5000, type_of(NORN_I32), previous(), 8, comm, 1, &slots[i]));
        OK(mpi->isend(set, out[i], count, type_of(NORN_I32), next(), 8, comm, 2, &slots[MANY + i]));
    }
    OK(finish_all(slots, 2 * MANY, done));
    for (int i = 0; i < MANY; i++) MUST(in[i][0] == 1000 * previous() + i, "place %d holds %d", i, in[i][0]);
}

/* --- many requests ----------------------------------------------------------------------------------------------- */

/*
 * `count` receives at once, then the messages for each thousand of them in the
 * reverse order (more would measure how MPI walks its queues). Tests the whole
 * lot in windows of 64.
 */
static void in_reverse(int count) {
    int32_t *slots = malloc(2 * (size_t)count * sizeof *slots), *values = malloc(2 * (size_t)count * sizeof *values);
    char *seen = calloc((size_t)count, 1);
    norn_mpi_done done[64];
    int32_t code = 0, some;
    int left = 2 * count, begin = 0, wrong = 0;
    double end = MPI_Wtime() + 120;
    for (int i = 0; i < count && code == 0; i++) {
        code = mpi->irecv(set, &values[i], 1, type_of(NORN_I32), previous(), i % 32768, comm, (uint64_t)i, &slots[i]);
    }
    for (int k = 0; k < count && code == 0; k++) {
        int block = k / 1000 * 1000, length = count - block < 1000 ? count - block : 1000, i = block + length - 1 - k % 1000;
        values[count + i] = 7 * i + rank;
        code = mpi->isend(set, &values[count + i], 1, type_of(NORN_I32), next(), i % 32768, comm, UINT64_MAX,
                          &slots[count + i]);
    }
    while (left > 0 && code == 0 && MPI_Wtime() < end) {
        int window = 2 * count - begin < 64 ? 2 * count - begin : 64;
        code = mpi->test(set, slots + begin, window, done, &some);
        for (int k = 0; k < some && code == 0; k++, left--) {
            wrong += done[k].outcome != NORN_MPI_DONE;
            if (done[k].user == UINT64_MAX) continue;
            if (done[k].user >= (uint64_t)count || seen[done[k].user]++) wrong++;
        }
        begin = begin + window >= 2 * count ? 0 : begin + window;
    }
    for (int i = 0; i < count; i++) wrong += values[i] != 7 * i + previous();
    free(slots);
    free(values);
    free(seen);
    OK(code);
    MUST(left == 0 && wrong == 0, "%d left, %d wrong", left, wrong);
}

static void ten_requests_in_reverse(void) { in_reverse(10); }
static void a_thousand_requests_in_reverse(void) { in_reverse(1000); }
static void thirty_thousand_requests_in_reverse(void) { in_reverse(30000); }

static void slots_are_dense_and_reused(void) {
    int32_t slots[100];
    norn_mpi_requests *own;
    norn_mpi_done done[100];
    int32_t some = 0;
    char seen[100] = {0}, byte;
    OK(mpi->requests_open(&own));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100; i++) {
            OK(mpi->irecv(own, &byte, 1, type_of(NORN_BYTE), rank, 1, comm, (uint64_t)i, &slots[i]));
        }
        memset(seen, 0, sizeof seen);
        for (int i = 0; i < 100; i++) {
            MUST(slots[i] >= 0 && slots[i] < 100 && !seen[slots[i]]++, "slot %d", (int)slots[i]);
            OK(mpi->cancel(own, slots[i]));
        }
        MUST(mpi->requests_close(own) == NORN_MPI_BUSY, "closed");
        int left = 100;
        for (double end = MPI_Wtime() + 60; left > 0 && MPI_Wtime() < end; left -= some) {
            OK(mpi->test(own, slots, 100, done, &some));
        }
        MUST(left == 0, "%d left", left);
    }
    OK(mpi->requests_close(own));
}

static void a_test_passes_over_what_is_no_request(void) {
    int32_t slot, none = 7;
    char byte = 0;
    norn_mpi_done done[6];
    OK(mpi->test(set, NULL, 0, NULL, &none));
    MUST(none == 0, "%d", (int)none);
    OK(mpi->irecv(set, &byte, 1, type_of(NORN_BYTE), rank, 1, comm, 3, &slot));
    int32_t odd[6] = {-1, slot, slot, INT32_MAX, slot, INT32_MIN};
    OK(mpi->test(set, odd, 6, done, &none));
    MUST(none == 0, "%d", (int)none);
    OK(mpi->cancel(set, slot));
    none = 0;
    for (double end = MPI_Wtime() + 60; none == 0 && MPI_Wtime() < end;) OK(mpi->test(set, odd, 6, done, &none));
    MUST(none == 1 && done[0].slot == slot && done[0].user == 3, "%d", (int)none);
    OK(mpi->test(set, odd, 6, done, &none));
    MUST(none == 0, "%d", (int)none);
}

/* --- large counts ------------------------------------------------------------------------------------------------ */

/* Memory that takes room only where it is touched. */
static char *sparse(int64_t bytes) {
    void *map = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return map == MAP_FAILED ? NULL : map;
}

static void large_message(int64_t bytes) {
    char *out = sparse(bytes), *in = sparse(bytes);
    int32_t slots[2];
    norn_mpi_done done[2];
    const int64_t marks[] = {0, bytes - 1, (INT64_C(1) << 31) - 2, bytes / 2};
    MUST(out != NULL && in != NULL, "no memory");
    for (int i = 0; i < 4; i++) out[marks[i]] = (char)(10 + i);
    int32_t code = mpi->irecv(set, in, bytes, type_of(NORN_BYTE), previous(), 2, comm, 1, &slots[0]);
    if (code == 0) code = mpi->isend(set, out, bytes, type_of(NORN_BYTE), next(), 2, comm, 2, &slots[1]);
    if (code == 0) code = finish_all(slots, 2, done);
    int right = 1;
    for (int i = 0; i < 4 && code == 0; i++) right &= in[marks[i]] == 10 + i;
    munmap(out, (size_t)bytes);
    munmap(in, (size_t)bytes);
    OK(code);
    MUST(right, "wrong data");
    for (int i = 0; i < 2; i++) {
        MUST(done[i].outcome == NORN_MPI_DONE, "outcome %d", (int)done[i].outcome);
        if (done[i].user == 1) MUST(done[i].bytes == bytes, "%lld bytes", (long long)done[i].bytes);
    }
}

static void a_message_of_2_31_minus_1_bytes(void) { large_message((INT64_C(1) << 31) - 1); }
static void a_message_of_2_31_plus_7_bytes(void) { large_message((INT64_C(1) << 31) + 7); }
static void a_message_of_5_gib(void) { large_message(INT64_C(5) << 30); }

static void a_broadcast_of_2_31_plus_7_bytes(void) {
    int64_t bytes = (INT64_C(1) << 31) + 7;
    char *data = sparse(bytes);
    int32_t slot;
    norn_mpi_done done;
    norn_mpi_collective what = {.kind = NORN_MPI_BCAST, .comm = comm, .recv = data, .recv_count = bytes};
    MUST(data != NULL, "no memory");
    what.recv_type = type_of(NORN_BYTE);
    if (rank == 0) data[0] = 1, data[bytes - 1] = 2;
    int32_t code = mpi->icollective(set, &what, 0, &slot);
    if (code == 0) code = finish(slot, &done);
    int right = code == 0 && data[0] == 1 && data[bytes - 1] == 2;
    munmap(data, (size_t)bytes);
    OK(code);
    MUST(right, "wrong data");
}

static void counts_over_the_limit_are_told(void) {
    int64_t limit = 0, counts[64], displs[64] = {0};
    double value = 0;
    int32_t slot = 77;
    OK(mpi->count_limit(&limit));
    MUST(limit == INT32_MAX || limit == INT64_MAX, "%lld", (long long)limit);
    if (limit == INT64_MAX) return;
    for (int i = 0; i < size && i < 64; i++) counts[i] = limit + 1;
    norn_mpi_collective what = {.kind = NORN_MPI_ALLREDUCE, .comm = comm, .send = &value, .recv = &value};
    what.recv_count = limit + 1;
    what.recv_type = type_of(NORN_F64);
    what.op = op_of(NORN_SUM);
    MUST(mpi->icollective(set, &what, 0, &slot) == NORN_MPI_TOO_LARGE && slot == 77, "allreduce");
    what.kind = NORN_MPI_ALLGATHERV;
    what.send_type = what.recv_type;
    what.recv_counts = counts;
    what.recv_displs = displs;
    MUST(mpi->icollective(set, &what, 0, &slot) == NORN_MPI_TOO_LARGE && slot == 77, "allgatherv");
}

/* --- collectives ------------------------------------------------------------------------------------------------- */

static norn_mpi_collective collective(int32_t kind) {
    norn_mpi_collective what = {.kind = kind, .comm = comm};
    what.send_type = what.recv_type = type_of(NORN_I32);
    what.op = op_of(NORN_SUM);
    return what;
}

static int32_t complete(const norn_mpi_collective *what) {
    int32_t slot;
    norn_mpi_done done;
    int32_t code = mpi->icollective(set, what, 123, &slot);
    if (code == 0) code = finish(slot, &done);
    if (code == 0 && (done.outcome != NORN_MPI_DONE || done.user != 123 || done.bytes != NORN_MPI_UNDEFINED)) code = -1001;
    return code;
}

static void barrier(void) {
    norn_mpi_collective what = collective(NORN_MPI_BARRIER);
    OK(complete(&what));
}

static void broadcast_from_each_root(void) {
    for (int root = 0; root < size; root++) {
        int32_t values[3] = {rank, rank, rank};
        norn_mpi_collective what = collective(NORN_MPI_BCAST);
        what.root = root;
        what.recv = values;
        what.recv_count = 3;
        OK(complete(&what));
        MUST(values[0] == root && values[2] == root, "%d", (int)values[0]);
    }
}

static void reduce_to_each_root(void) {
    for (int root = 0; root < size; root++) {
        int32_t values[2] = {rank + 1, 10 * rank}, sums[2] = {-1, -1};
        norn_mpi_collective what = collective(NORN_MPI_REDUCE);
        what.root = root;
        what.send = values;
        what.recv = rank == root ? sums : NULL;
        what.recv_count = 2;
        OK(complete(&what));
        if (rank == root) MUST(sums[0] == size * (size + 1) / 2 && sums[1] == 5 * size * (size - 1), "%d", (int)sums[0]);
        /* In place, and again. */
        if (rank == root) {
            what.send = (const void *)NORN_MPI_IN_PLACE;
            what.recv = values;
        }
        OK(complete(&what));
        if (rank == root) MUST(values[0] == size * (size + 1) / 2, "%d in place", (int)values[0]);
    }
}

static void reductions_with_every_operation(void) {
    static const int64_t right_of_two[] = {[NORN_SUM] = 8, [NORN_PROD] = 15, [NORN_MIN] = 3, [NORN_MAX] = 5,
                                           [NORN_LAND] = 1, [NORN_LOR] = 1, [NORN_LXOR] = 0, [NORN_BAND] = 1,
                                           [NORN_BOR] = 7, [NORN_BXOR] = 6};
    for (int32_t op = NORN_SUM; op <= NORN_BXOR; op++) {
        int64_t value = rank == 0 ? 3 : 5, result = -1;
        norn_mpi_collective what = collective(NORN_MPI_ALLREDUCE);
        what.op = op_of(op);
        what.recv_type = type_of(NORN_I64);
        what.send = &value;
        what.recv = &result;
        what.recv_count = 1;
        OK(complete(&what));
        if (size == 2) MUST(result == right_of_two[op], "operation %d gives %lld", (int)op, (long long)result);
        if (size == 1 && op != NORN_LAND && op != NORN_LOR && op != NORN_LXOR) {
            MUST(result == 3, "operation %d gives %lld", (int)op, (long long)result);
        }
    }
}

static void reductions_of_every_number_type(void) {
    for (int32_t number_type = NORN_I8; number_type <= NORN_C128; number_type++) {
        _Alignas(16) char value[16] = {0}, result[16] = {0};
        int64_t sum = 0;
        norn_mpi_collective what = collective(NORN_MPI_ALLREDUCE);
        switch (number_type) {
        case NORN_F32: memcpy(value, &(float){2}, 4); break;
        case NORN_F64: memcpy(value, &(double){2}, 8); break;
        case NORN_C64: memcpy(value, (float[2]){2, 2}, 8); break;
        case NORN_C128: memcpy(value, (double[2]){2, 2}, 16); break;
        default: value[0] = 2; /* little-endian integers */
        }
        what.recv_type = type_of(number_type);
        what.send = value;
        what.recv = result;
        what.recv_count = 1;
        OK(complete(&what));
        float f[2];
        double d[2];
        memcpy(f, result, sizeof f);
        memcpy(d, result, sizeof d);
        switch (number_type) {
        case NORN_F32: sum = (int64_t)f[0]; break;
        case NORN_F64: sum = (int64_t)d[0]; break;
        case NORN_C64: sum = (int64_t)f[1]; break;
        case NORN_C128: sum = (int64_t)d[1]; break;
        default: sum = result[0];
        }
        MUST(sum == 2 * size, "type %d gives %lld", (int)number_type, (long long)sum);
    }
}

static void allreduce_in_place(void) {
    int32_t values[2] = {1, rank};
    norn_mpi_collective what = collective(NORN_MPI_ALLREDUCE);
    what.send = (const void *)NORN_MPI_IN_PLACE;
    what.recv = values;
    what.recv_count = 2;
    OK(complete(&what));
    MUST(values[0] == size && values[1] == size * (size - 1) / 2, "%d", (int)values[0]);
}

static void gather_and_scatter(void) {
    int32_t mine[2] = {rank, -rank}, *all = calloc(2 * (size_t)size, sizeof *all), back[2] = {-7, -7};
    int root = size - 1, right = 1;
    norn_mpi_collective what = collective(NORN_MPI_GATHER);
    what.root = root;
    what.send = mine;
    what.send_count = 2;
    what.recv = rank == root ? all : NULL;
    what.recv_count = 2;
    int32_t code = complete(&what);
    for (int i = 0; i < size && rank == root; i++) right &= all[2 * i] == i && all[2 * i + 1] == -i;
    what = collective(NORN_MPI_SCATTER);
    what.root = root;
    what.send = rank == root ? all : NULL;
    what.send_count = 2;
    what.recv = back;
    what.recv_count = 2;
    if (code == 0) code = complete(&what);
    free(all);
    OK(code);
    MUST(right && back[0] == rank && back[1] == -rank, "wrong data");
}

/* Rank i has i elements; they lie two apart at the root. The arrays change as soon as the call has returned. */
static void gatherv_and_scatterv(void) {
    int32_t mine[64], back[64], *all = malloc((size_t)(size * (size + 2)) * sizeof *all);
    int64_t *counts = malloc((size_t)size * sizeof *counts), *displs = malloc((size_t)size * sizeof *displs);
    int right = 1, total = 0;
    int32_t slot, code;
    norn_mpi_done done;
    norn_mpi_collective what;
    for (int i = 0; i < 64; i++) mine[i] = 100 * rank + i, back[i] = -1;
    for (int i = 0; i < size; i++) counts[i] = i, displs[i] = total, total += i + 2;
    what = collective(NORN_MPI_GATHERV);
    what.send = mine;
    what.send_count = rank;
    what.recv = all;
    what.recv_counts = counts;
    what.recv_displs = displs;
    code = mpi->icollective(set, &what, 0, &slot);
    for (int i = 0; i < size; i++) counts[i] = displs[i] = -99;
    if (code == 0) code = finish(slot, &done);
    total = 0;
    for (int i = 0; i < size; i++) counts[i] = i, displs[i] = total, total += i + 2;
    for (int i = 0; i < size && rank == 0; i++) {
        for (int k = 0; k < i; k++) right &= all[displs[i] + k] == 100 * i + k;
    }
    what = collective(NORN_MPI_SCATTERV);
    what.send = all;
    what.send_counts = counts;
    what.send_displs = displs;
    what.recv = back;
    what.recv_count = rank;
    if (code == 0) code = mpi->icollective(set, &what, 0, &slot);
    for (int i = 0; i < size; i++) counts[i] = displs[i] = -99;
    if (code == 0) code = finish(slot, &done);
    for (int k = 0; k < rank; k++) right &= back[k] == 100 * rank + k;
    right &= back[rank] == -1;
    free(all);
    free(counts);
    free(displs);
    OK(code);
    MUST(right, "wrong data");
}

static void allgather_and_allgatherv(void) {
    int32_t mine[64], all[64 * 64];
    int64_t counts[64], displs[64];
    int total = 0;
    norn_mpi_collective what = collective(NORN_MPI_ALLGATHER);
    for (int i = 0; i < 64; i++) mine[i] = 100 * rank + i;
    what.send = mine;
    what.send_count = 2;
    what.recv = all;
    what.recv_count = 2;
    OK(complete(&what));
    for (int i = 0; i < size; i++) MUST(all[2 * i + 1] == 100 * i + 1, "%d", (int)all[2 * i + 1]);
    for (int i = 0; i < size; i++) counts[i] = i + 1, displs[i] = total, total += i + 3;
    what = collective(NORN_MPI_ALLGATHERV);
    what.send = mine;
    what.send_count = rank + 1;
    what.recv = all;
    what.recv_counts = counts;
    what.recv_displs = displs;
    OK(complete(&what));
    for (int i = 0; i < size; i++) MUST(all[displs[i] + i] == 101 * i, "%d", (int)all[displs[i] + i]);
}

static void alltoall_and_alltoallv(void) {
    int32_t out[64 * 64], in[64 * 64];
    int64_t send_counts[64], send_displs[64], recv_counts[64], recv_displs[64];
    norn_mpi_collective what = collective(NORN_MPI_ALLTOALL);
    for (int i = 0; i < size; i++) out[i] = 100 * rank + i;
    what.send = out;
    what.send_count = 1;
    what.recv = in;
    what.recv_count = 1;
    OK(complete(&what));
    for (int i = 0; i < size; i++) MUST(in[i] == 100 * i + rank, "%d", (int)in[i]);
    /* Rank i sends i + k elements to rank k. */
    for (int i = 0; i < 64 * 64; i++) out[i] = 10000 * rank + i;
    for (int i = 0; i < size; i++) {
        send_counts[i] = recv_counts[i] = rank + i;
        send_displs[i] = recv_displs[i] = 64 * i;
    }
    what = collective(NORN_MPI_ALLTOALLV);
    what.send = out;
    what.send_counts = send_counts;
    what.send_displs = send_displs;
    what.recv = in;
    what.recv_counts = recv_counts;
    what.recv_displs = recv_displs;
    OK(complete(&what));
    for (int i = 0; i < size; i++) {
        for (int k = 0; k < rank + i; k++) {
            MUST(in[64 * i + k] == 10000 * i + 64 * rank + k, "%d", (int)in[64 * i + k]);
        }
    }
}

static void collectives_of_nothing(void) {
    for (int32_t kind = NORN_MPI_BCAST; kind <= NORN_MPI_ALLTOALLV; kind++) {
        int64_t zeros[64] = {0};
        norn_mpi_collective what = collective(kind);
        what.send_counts = what.send_displs = what.recv_counts = what.recv_displs = zeros;
        OK(complete(&what));
    }
}

static void many_collectives_at_once(void) {
    enum { MANY = 200 };
    int32_t slots[MANY], values[MANY], sums[MANY];
    norn_mpi_done done[MANY];
    for (int i = 0; i < MANY; i++) {
        norn_mpi_collective what = collective(NORN_MPI_ALLREDUCE);
        values[i] = i + rank;
        what.send = &values[i];
        what.recv = &sums[i];
        what.recv_count = 1;
        OK(mpi->icollective(set, &what, 0, &slots[i]));
    }
    OK(finish_all(slots, MANY, done));
    for (int i = 0; i < MANY; i++) MUST(sums[i] == size * i + size * (size - 1) / 2, "sum %d is %d", i, (int)sums[i]);
}

static void bad_collectives_are_refused(void) {
    int32_t slot = 77, value = 0;
    norn_mpi_collective what = collective(99);
    MUST(mpi->icollective(set, &what, 0, &slot) == NORN_MPI_INVALID && slot == 77, "kind");
    what = collective(NORN_MPI_BCAST);
    what.recv = &value;
    what.recv_count = -1;
    MUST(mpi->icollective(set, &what, 0, &slot) == NORN_MPI_INVALID && slot == 77, "count");
    what.recv_count = 1;
    what.recv_type = integer_of_type(MPI_DATATYPE_NULL);
    MUST(mpi->icollective(set, &what, 0, &slot) == NORN_MPI_INVALID && slot == 77, "type");
    what = collective(NORN_MPI_BCAST);
    what.recv = &value;
    what.recv_count = 1;
    what.root = size;
    int32_t code = mpi->icollective(set, &what, 0, &slot);
    MUST(code > 0 && slot == 77, "root gives %d", (int)code);
}

/* --- memory ------------------------------------------------------------------------------------------------------ */

static void memory_for_messages(void) {
    void *memory = &memory;
    OK(mpi->alloc(0, &memory));
    MUST(memory == NULL, "not NULL");
    OK(mpi->free(NULL));
    OK(mpi->alloc(100000, &memory));
    MUST(memory != NULL, "NULL");
    memset(memory, 1, 100000);
    OK(mpi->free(memory));
    memory = &memory;
    int32_t code = mpi->alloc(UINT64_MAX, &memory);
    MUST(code != 0 && memory == &memory, "code %d", (int)code);
}

static int ends_seen;
static void finalize_begins(int32_t comm) {
    int32_t now = -1;
    mpi->state(&now);
    ends_seen += comm == NORN_MPI_NO_HANDLE && now == NORN_MPI_ACTIVE;
}

int main(int argc, char **argv) {
    if (argc < 2) return fprintf(stderr, "usage: conformance PLUGIN\n"), 2;
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) return fprintf(stderr, "conformance: %s\n", dlerror()), 2;
    norn_mpi_plugin_fn entry;
    *(void **)&entry = dlsym(plugin, "norn_mpi_plugin");
    if (entry == NULL) return fprintf(stderr, "conformance: %s\n", dlerror()), 2;
    mpi = entry();

    int32_t before = -1, after = -1;
    mpi->state(&before);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int32_t slot;
    norn_mpi_done done;
    if (mpi->requests_open(&set) != 0 || mpi->comm_idup(set, integer_of_world(), 0, &slot) != 0 ||
        finish(slot, &done) != 0 || done.outcome != NORN_MPI_DONE) {
        fprintf(stderr, "conformance: no communicator\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    comm = done.comm;

#define RUN(test) run(#test, test)
    RUN(describes_itself);
    RUN(texts_are_cut_to_size);
    RUN(errors_have_texts);
    RUN(says_whether_device_aware);
    RUN(communicators_are_fortran_integers);
    RUN(bad_communicators_are_refused);
    RUN(error_handlers_of_the_application_stay);
    RUN(duplicates_have_no_hints);
    RUN(duplicating_runs_the_attributes_of_the_application);
    RUN(thousands_of_duplicates_one_after_the_other);
    RUN(predefined_types_have_their_sizes);
    RUN(bad_types_are_refused);
    RUN(blocks_and_planes_take_the_right_elements);
    RUN(blocks_of_a_type_of_the_application);
    RUN(huge_types_can_be_described);
    RUN(messages_of_many_sizes_around_the_ring);
    RUN(null_buffers_may_be_sent_with_no_bytes);
    RUN(any_source_and_any_tag);
    RUN(the_largest_tag_works);
    RUN(bad_ranks_and_tags_are_error_codes);
    RUN(a_type_that_was_not_committed_is_an_error_code);
    RUN(truncation_tested_alone);
    RUN(truncation_tested_among_others);
    RUN(truncation_tested_in_a_window);
    RUN(one_byte_where_none_was_expected);
    RUN(nothing_where_bytes_were_expected);
    RUN(a_receive_can_be_cancelled);
    RUN(a_cancel_loses_no_message);
    RUN(a_probe_tells_source_tag_and_size);
    RUN(the_traffic_of_the_application_is_its_own);
    RUN(messages_do_not_overtake);
    RUN(ten_requests_in_reverse);
    RUN(a_thousand_requests_in_reverse);
    RUN(thirty_thousand_requests_in_reverse);
    RUN(slots_are_dense_and_reused);
    RUN(a_test_passes_over_what_is_no_request);
    RUN(barrier);
    RUN(broadcast_from_each_root);
    RUN(reduce_to_each_root);
    RUN(reductions_with_every_operation);
    RUN(reductions_of_every_number_type);
    RUN(allreduce_in_place);
    RUN(gather_and_scatter);
    RUN(gatherv_and_scatterv);
    RUN(allgather_and_allgatherv);
    RUN(alltoall_and_alltoallv);
    RUN(collectives_of_nothing);
    RUN(many_collectives_at_once);
    RUN(bad_collectives_are_refused);
    RUN(counts_over_the_limit_are_told);
    RUN(memory_for_messages);
    const char *large = getenv("CONFORMANCE_LARGE");
    int all = large != NULL && large[0] != 0;
    if (size == 1 || all) {
        RUN(a_message_of_2_31_plus_7_bytes);
        RUN(a_broadcast_of_2_31_plus_7_bytes);
    }
    if (all) {
        RUN(running_out_of_communicators_is_an_error_code);
        RUN(a_message_of_2_31_minus_1_bytes);
        RUN(a_message_of_5_gib);
    }
#undef RUN

    mpi->comm_free(comm);
    int32_t closed = mpi->requests_close(set);
    int asked = mpi->at_finalize(integer_of_world(), finalize_begins) == 0 &&
                mpi->at_finalize(integer_of_world(), finalize_begins) == 0;
    MPI_Finalize();
    mpi->state(&after);
    /* Known only outside of MPI, so each rank tells it by its exit status, and rank 0 in words. */
    int states = before == NORN_MPI_BEFORE_INIT && after == NORN_MPI_FINALIZED && closed == 0;
    states = states && asked && ends_seen == 1;
    if (rank == 0) {
        printf("%s %d - states before and after\n", states ? "ok" : "not ok", number + 1);
        fflush(stdout);
    }
    return failed_tests == 0 && states ? 0 : 1;
}
