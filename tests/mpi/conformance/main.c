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
#include <stdarg.h>
#include <stdlib.h>

#include "conformance.h"

const norn_mpi_table *mpi;
norn_mpi_requests *set;
int32_t comm;
int rank, size, failures;
static int number, failed_tests;
static char why[1024];

__attribute__((format(printf, 3, 4))) void note(int line, const char *condition, const char *format, ...) {
    char more[600];
    va_list arguments;
    if (failures++ > 0) return;
    va_start(arguments, format);
    vsnprintf(more, sizeof more, format, arguments);
    va_end(arguments);
    snprintf(why, sizeof why, "line %d: %.150s: %.700s", line, condition, more);
}

int32_t last_code;
const char *text_of(int32_t code) {
    static char text[512];
    if (mpi->error_text(code, text, sizeof text) != 0) text[0] = 0;
    return text;
}

int32_t type_of(norn_type number_of_type) {
    int32_t handle = NORN_MPI_NO_HANDLE;
    if (mpi->type_builtin((int32_t)number_of_type, &handle) != 0) return NORN_MPI_NO_HANDLE;
    return handle;
}

int32_t op_of(norn_op number_of_op) {
    int32_t handle = NORN_MPI_NO_HANDLE;
    if (mpi->op_builtin((int32_t)number_of_op, &handle) != 0) return NORN_MPI_NO_HANDLE;
    return handle;
}

int32_t finish(int32_t slot, norn_mpi_done *done) {
    double end = MPI_Wtime() + 60;
    int32_t count = 0, code = 0;
    while (code == 0 && count == 0 && MPI_Wtime() < end) code = mpi->test(set, &slot, 1, done, &count);
    return code != 0 ? code : count == 1 ? 0 : -1000;
}

int32_t finish_all(const int32_t *slots, int32_t count, norn_mpi_done *done) {
    double end = MPI_Wtime() + 60;
    int32_t total = 0, some, code = 0;
    while (code == 0 && total < count && MPI_Wtime() < end) {
        code = mpi->test(set, slots, count, done + total, &some);
        if (code == 0) total += some;
    }
    return code != 0 ? code : total == count ? 0 : -1000;
}

int32_t integer_of(MPI_Comm of) {
#ifdef CONFORMANCE_TOINT
    return MPI_Comm_toint(of);
#else
    return (int32_t)MPI_Comm_c2f(of);
#endif
}

MPI_Comm comm_of(int32_t integer) {
#ifdef CONFORMANCE_TOINT
    return MPI_Comm_fromint(integer);
#else
    return MPI_Comm_f2c((MPI_Fint)integer);
#endif
}

int32_t integer_of_type(MPI_Datatype of) {
#ifdef CONFORMANCE_TOINT
    return MPI_Type_toint(of);
#else
    return (int32_t)MPI_Type_c2f(of);
#endif
}

int32_t integer_of_op(MPI_Op of) {
#ifdef CONFORMANCE_TOINT
    return MPI_Op_toint(of);
#else
    return (int32_t)MPI_Op_c2f(of);
#endif
}

int next(void) { return (rank + 1) % size; }
int previous(void) { return (rank + size - 1) % size; }

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

static void run_all(const struct check *checks, int with_large) {
    for (; checks->name != NULL; checks++) {
        int wanted = checks->when == ALWAYS || (checks->when == ALONE && size == 1) || with_large;
        if (wanted) run(checks->name, checks->run);
    }
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
    if (mpi->requests_open(&set) != 0 || mpi->comm_idup(set, integer_of(MPI_COMM_WORLD), 0, &slot) != 0 ||
        finish(slot, &done) != 0 || done.outcome != NORN_MPI_DONE) {
        fprintf(stderr, "conformance: no communicator\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    comm = done.comm;

    const char *large = getenv("CONFORMANCE_LARGE");
    int with_large = large != NULL && large[0] != 0;
    const struct check *const areas[] = {library_checks, communicator_checks, type_checks,   message_checks,
                                         request_checks, collective_checks,   large_checks};
    for (size_t i = 0; i < sizeof areas / sizeof *areas; i++) run_all(areas[i], with_large);

    mpi->comm_free(comm);
    int32_t closed = mpi->requests_close(set);
    int asked = mpi->at_finalize(integer_of(MPI_COMM_WORLD), finalize_begins) == 0 &&
                mpi->at_finalize(integer_of(MPI_COMM_WORLD), finalize_begins) == 0;
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
