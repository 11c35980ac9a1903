/*
 * The Cholesky factorisation of one matrix on a device, in double precision: by cuSOLVER's potrf of the whole matrix, and by
 * tiles, a task of norn for each call of cuBLAS or cuSOLVER, in one run and on the same numbers.
 *
 *   potrf [N] [TILE[,STREAMS]]...     32768; 1024 with 32 streams
 *
 * The matrix is random: uniform between -1/2 and 1/2, with N added on the diagonal. Both factors are compared in the last
 * row of tiles, which depends on all others. No CUDA header is needed; cuBLAS and cuSOLVER are found at run time.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#include "driver.h"

#include <math.h>
#include <norn_cuda.h>

enum { OP_N = 0, OP_T = 1, FILL_LOWER = 0, SIDE_RIGHT = 1, DIAG_NON_UNIT = 0 }; /* as cublas_v2.h has them */
enum { REPEATS = 4 };

typedef struct cublasContext *blas_handle;
typedef struct cusolverDnContext *solver_handle;

static struct {
    int (*trsm)(blas_handle, int side, int fill, int op, int diag, int m, int n, const double *alpha, const double *a, int lda,
                double *b, int ldb);
    int (*syrk)(blas_handle, int fill, int op, int n, int k, const double *alpha, const double *a, int lda,
                const double *beta, double *c, int ldc);
    int (*gemm)(blas_handle, int op_a, int op_b, int m, int n, int k, const double *alpha, const double *a, int lda,
                const double *b, int ldb, const double *beta, double *c, int ldc);
    int (*create)(solver_handle *);
    int (*destroy)(solver_handle);
    int (*set_stream)(solver_handle, void *);
    int (*potrf_size)(solver_handle, int fill, int n, double *a, int lda, int *count);
    int (*potrf)(solver_handle, int fill, int n, double *a, int lda, double *work, int count, int *info);
} library;

static void *open_library(const char *newer, const char *older) {
    void *opened = dlopen(newer, RTLD_NOW | RTLD_GLOBAL);
    if (opened == NULL) opened = dlopen(older, RTLD_NOW | RTLD_GLOBAL);
    if (opened != NULL) return opened;
    printf("%s is not on the loader's path\n", newer);
    exit(77);
}

static void find_libraries(void) {
    void *blas = open_library("libcublas.so.13", "libcublas.so.12");
    void *solver = open_library("libcusolver.so.12", "libcusolver.so.11");
    find(blas, "cublasDtrsm_v2", &library.trsm);
    find(blas, "cublasDsyrk_v2", &library.syrk);
    find(blas, "cublasDgemm_v2", &library.gemm);
    find(solver, "cusolverDnCreate", &library.create);
    find(solver, "cusolverDnDestroy", &library.destroy);
    find(solver, "cusolverDnSetStream", &library.set_stream);
    find(solver, "cusolverDnDpotrf_bufferSize", &library.potrf_size);
    find(solver, "cusolverDnDpotrf", &library.potrf);
}

/* Element (row, column) of the matrix, from a hash of both that does not depend on their order. */
static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry matrix(.param .u64 a, .param .u64 n)\n{\n"
                          ".reg .u32 %r<5>;\n.reg .u64 %d<12>;\n.reg .f64 %f<3>;\n.reg .pred %p;\n"
                          "ld.param.u64 %d0, [a];\nld.param.u64 %d1, [n];\n"
                          "mov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ntid.x;\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.y;\n"
                          "cvt.u64.u32 %d3, %r2;\nmad.wide.u32 %d2, %r0, %r1, %d3;\ncvt.u64.u32 %d4, %r3;\n"
                          "setp.ge.u64 %p, %d2, %d1;\n@%p bra past;\n"
                          "min.u64 %d5, %d2, %d4;\nmax.u64 %d6, %d2, %d4;\nmad.lo.u64 %d7, %d6, %d1, %d5;\n"
                          "mul.lo.u64 %d7, %d7, 0x5851F42D4C957F2D;\nshr.u64 %d8, %d7, 32;\nxor.b64 %d7, %d7, %d8;\n"
                          "mul.lo.u64 %d7, %d7, 0x9E3779B97F4A7C15;\nshr.u64 %d7, %d7, 11;\n"
                          "cvt.rn.f64.u64 %f0, %d7;\nmul.rn.f64 %f0, %f0, 0d3CA0000000000000;\n"
                          "add.rn.f64 %f0, %f0, 0dBFE0000000000000;\n"
                          "setp.ne.u64 %p, %d2, %d4;\n@%p bra store;\n"
                          "cvt.rn.f64.u64 %f1, %d1;\nadd.rn.f64 %f0, %f0, %f1;\n"
                          "store:\nmad.lo.u64 %d9, %d4, %d1, %d2;\nshl.b64 %d9, %d9, 3;\nadd.u64 %d9, %d0, %d9;\n"
                          "st.f64 [%d9], %f0;\npast:\nret;\n}\n";

static uint64_t a, factor; /* the matrix, and cuSOLVER's factor of it, on the device */
static int n;

static double tflops(double us) { return (double)n * n * n / 3 / us * 1e-6; }

/* ----- cuSOLVER alone ----- */

static void factorise_whole(void) {
    solver_handle handle;
    void *stream;
    uint64_t work, info;
    int count, verdict = -1;
    double best = 1e30;
    DO(cu.stream_create(&stream, 1));
    DO(library.create(&handle));
    DO(library.set_stream(handle, stream));
    DO(library.potrf_size(handle, FILL_LOWER, n, (double *)(uintptr_t)factor, n, &count));
    DO(cu.memory_alloc(&work, (size_t)count * sizeof(double)));
    DO(cu.memory_alloc(&info, sizeof(int)));
    for (int i = 0; i < REPEATS; i++) {
        DO(cu.copy(factor, a, (size_t)n * (size_t)n * sizeof(double), stream));
        DO(cu.stream_synchronize(stream));
        double start = now_us();
        DO(library.potrf(handle, FILL_LOWER, n, (double *)(uintptr_t)factor, n, (double *)(uintptr_t)work, count,
                         (int *)(uintptr_t)info));
        DO(cu.stream_synchronize(stream));
        double took = now_us() - start;
        printf("cuSOLVER potrf of the whole  %10.1f ms  %6.2f TFLOP/s\n", took * 1e-3, tflops(took));
        if (took < best) best = took;
    }
    DO(cu.copy((uint64_t)(uintptr_t)&verdict, info, sizeof verdict, stream));
    DO(cu.stream_synchronize(stream));
    DO(verdict);
    DO(library.destroy(handle));
    DO(cu.stream_destroy(stream));
    DO(cu.memory_free(work));
    DO(cu.memory_free(info));
    printf("cuSOLVER best                %10.1f ms  %6.2f TFLOP/s\n", best * 1e-3, tflops(best));
}

/* ----- norn ----- */

typedef struct tile {
    norn_data data;
    double *values;
    int rows, cols, row, col;
} tile;

static norn_runtime *rt;
static norn_place place;
static tile *tiles;
static int across, size, work_count;
static norn_data work;
static double *work_values;

static tile *at(int row, int col) { return &tiles[(size_t)col * (size_t)across + (size_t)row]; }

typedef struct operands {
    const tile *a, *b, *c;
} operands;

static const double one = 1.0, minus_one = -1.0;

static int32_t trsm(norn_self *self, void *stream, void *arg) {
    const operands *o = arg;
    blas_handle handle;
    (void)stream;
    if (norn_cuda_cublas(self, &handle) != NORN_OK) return norn_self_fail(self, -1, norn_last_error());
    return norn_cuda_check(self,
                           library.trsm(handle, SIDE_RIGHT, FILL_LOWER, OP_T, DIAG_NON_UNIT, o->c->rows, o->c->cols, &one,
                                        o->a->values, o->a->rows, o->c->values, o->c->rows),
                           "cublasDtrsm");
}
static int32_t syrk(norn_self *self, void *stream, void *arg) {
    const operands *o = arg;
    blas_handle handle;
    (void)stream;
    if (norn_cuda_cublas(self, &handle) != NORN_OK) return norn_self_fail(self, -1, norn_last_error());
    return norn_cuda_check(self,
                           library.syrk(handle, FILL_LOWER, OP_N, o->c->rows, o->a->cols, &minus_one, o->a->values,
                                        o->a->rows, &one, o->c->values, o->c->rows),
                           "cublasDsyrk");
}
static int32_t gemm(norn_self *self, void *stream, void *arg) {
    const operands *o = arg;
    blas_handle handle;
    (void)stream;
    if (norn_cuda_cublas(self, &handle) != NORN_OK) return norn_self_fail(self, -1, norn_last_error());
    return norn_cuda_check(self,
                           library.gemm(handle, OP_N, OP_T, o->c->rows, o->c->cols, o->a->cols, &minus_one, o->a->values,
                                        o->a->rows, o->b->values, o->b->rows, &one, o->c->values, o->c->rows),
                           "cublasDgemm");
}
static int32_t potrf(norn_self *self, void *stream, void *arg) {
    const operands *o = arg;
    solver_handle handle;
    (void)stream;
    if (norn_cuda_cusolver(self, &handle) != NORN_OK) return norn_self_fail(self, -1, norn_last_error());
    return norn_cuda_check(self,
                           library.potrf(handle, FILL_LOWER, o->c->rows, o->c->values, o->c->rows, work_values, work_count,
                                         (int *)(work_values + work_count)),
                           "cusolverDnDpotrf");
}

/* One kernel as a task: updates c, reads a and b. What brings an earlier column forward goes first. */
static void issue(norn_enqueue_fn enqueue, int col, int urgency, operands o) {
    norn_access accesses[4];
    norn_task task = NORN_TASK_INIT;
    accesses[task.access_count++] = norn_update(o.c->data);
    if (o.a != NULL) accesses[task.access_count++] = norn_read(o.a->data);
    if (o.b != NULL) accesses[task.access_count++] = norn_read(o.b->data);
    if (enqueue == potrf) accesses[task.access_count++] = norn_update(work);
    task.enqueue = enqueue;
    task.place = place;
    task.arg = &o;
    task.arg_bytes = sizeof o;
    task.flags = NORN_COPY_ARG;
    task.accesses = accesses;
    task.priority = (across - col) * 4 + urgency;
    DO(norn_submit(rt, &task, NULL));
}

static void factorise_tiles(void) {
    for (int k = 0; k < across; k++) {
        issue(potrf, k, 3, (operands){.c = at(k, k)});
        for (int i = k + 1; i < across; i++) issue(trsm, k, 2, (operands){.a = at(k, k), .c = at(i, k)});
        for (int j = k + 1; j < across; j++) {
            issue(syrk, j, 1, (operands){.a = at(j, k), .c = at(j, j)});
            for (int i = j + 1; i < across; i++)
                issue(gemm, j, 0, (operands){.a = at(i, k), .b = at(j, k), .c = at(i, j)});
        }
    }
}

static norn_data allocate(size_t bytes, double **values) {
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data data;
    void *address;
    desc.bytes = bytes;
    desc.kind = NORN_MEMORY_DEVICE;
    desc.place = place;
    DO(norn_data_alloc(rt, &desc, &data));
    DO(norn_data_pointer(rt, data, &address, NULL));
    *values = address;
    return data;
}

static void load_tiles(void) {
    for (tile *t = tiles; t < tiles + (size_t)across * (size_t)across; t++) {
        if (t->values == NULL) continue;
        norn_slice from = norn_slice_at((void *)(uintptr_t)a, NORN_F64, (uint64_t)t->rows);
        norn_slice to = norn_slice_of(t->data, NORN_F64, (uint64_t)t->rows);
        from.place = place;
        from.offset = (uint64_t)t->col * (uint64_t)size * (uint64_t)n + (uint64_t)t->row * (uint64_t)size;
        from.blocks = to.blocks = (uint64_t)t->cols;
        from.stride = (uint64_t)n;
        DO(norn_copy(rt, &from, &to, NULL, NULL));
    }
    DO(norn_drain(rt, -1));
}

/* The largest difference from cuSOLVER's factor in the last row of tiles, as a share of the largest element there. */
static double compare(void) {
    double difference = 0, largest = 0;
    for (int col = 0; col < across; col++) {
        const tile *t = at(across - 1, col);
        size_t count = (size_t)t->rows * (size_t)t->cols;
        double *mine = malloc(count * sizeof *mine), *other = malloc(count * sizeof *other);
        norn_slice tile_there = norn_slice_of(t->data, NORN_F64, count), here = norn_slice_at(mine, NORN_F64, count);
        norn_slice whole = norn_slice_at((void *)(uintptr_t)factor, NORN_F64, (uint64_t)t->rows);
        norn_slice other_here = norn_slice_at(other, NORN_F64, (uint64_t)t->rows);
        if (mine == NULL || other == NULL) exit(1);
        whole.place = place;
        whole.offset = (uint64_t)col * (uint64_t)size * (uint64_t)n + (uint64_t)t->row * (uint64_t)size;
        whole.blocks = other_here.blocks = (uint64_t)t->cols;
        whole.stride = (uint64_t)n;
        DO(norn_copy(rt, &tile_there, &here, NULL, NULL));
        DO(norn_copy(rt, &whole, &other_here, NULL, NULL));
        DO(norn_drain(rt, -1));
        for (int j = 0; j < t->cols; j++)
            for (int i = t->row == t->col ? j : 0; i < t->rows; i++) {
                size_t k = (size_t)j * (size_t)t->rows + (size_t)i;
                difference = fmax(difference, fabs(mine[k] - other[k]));
                largest = fmax(largest, fabs(other[k]));
            }
        free(mine);
        free(other);
    }
    return difference / largest;
}

static void run_tiles(int workers, int tile_size, int streams) {
    norn_config config = NORN_CONFIG_INIT;
    solver_handle asked;
    double best = 1e30;
    config.workers = workers;
    DO(norn_open(&config, &rt));
    norn_device_info info = open_device(rt, streams, &place);
    size = tile_size < n ? tile_size : n;
    across = (n - 1) / size + 1;
    tiles = calloc((size_t)across * (size_t)across, sizeof *tiles);
    if (tiles == NULL) exit(1);
    for (int col = 0; col < across; col++)
        for (int row = col; row < across; row++) {
            tile *t = at(row, col);
            *t = (tile){.row = row, .col = col};
            t->rows = row + 1 == across ? n - row * size : size;
            t->cols = col + 1 == across ? n - col * size : size;
            t->data = allocate((size_t)t->rows * (size_t)t->cols * sizeof(double), &t->values);
        }
    DO(library.create(&asked));
    DO(library.potrf_size(asked, FILL_LOWER, size, NULL, size, &work_count));
    DO(library.destroy(asked));
    work = allocate(((size_t)work_count + 1) * sizeof(double), &work_values);
    for (int i = 0; i < REPEATS; i++) {
        load_tiles();
        double start = now_us();
        factorise_tiles();
        double submitted = now_us() - start;
        DO(norn_drain(rt, -1));
        double took = now_us() - start;
        if (took < best) best = took;
        printf("norn, tiles of %4d, %2d streams %8.1f ms  %6.2f TFLOP/s, submitted in %.1f ms\n", size, streams, took * 1e-3,
               tflops(took), submitted * 1e-3);
    }
    DO(norn_device_get(rt, place, &info));
    printf("norn best, tiles of %4d      %10.1f ms  %6.2f TFLOP/s, difference %.1e, %llu operations, %llu waits\n", size,
           best * 1e-3, tflops(best), compare(), (unsigned long long)info.issued, (unsigned long long)info.waits);
    fflush(stdout);
    DO(norn_close(rt));
    free(tiles);
}

int main(int argc, char **argv) {
    norn_runtime *first;
    norn_config config = NORN_CONFIG_INIT;
    void *loaded, *matrix;
    n = argc > 1 ? number(argv[1]) : 32768;
    config.workers = 1;
    DO(norn_open(&config, &first));
    norn_device_info info = open_device(first, 1, &place);
    driver_start(info.ordinal); /* keeps the context while runtimes come and go */
    DO(norn_close(first));
    find_libraries();
    printf("%s, n = %d\n", info.name, n);

    size_t bytes = (size_t)n * (size_t)n * sizeof(double);
    uint64_t order = (uint64_t)n;
    void *arguments[2] = {&a, &order};
    DO(cu.memory_alloc(&a, bytes));
    DO(cu.memory_alloc(&factor, bytes));
    DO(cu.load(&loaded, ptx));
    DO(cu.function(&matrix, loaded, "matrix"));
    DO(cu.launch(matrix, (unsigned)(n + 255) / 256, (unsigned)n, 1, 256, 1, 1, 0, NULL, arguments, NULL));
    DO(cu.stream_synchronize(NULL));
    factorise_whole();
    fflush(stdout);
    for (int i = 2; i < argc; i++) {
        int tile_size, streams = 32;
        char *comma = strchr(argv[i], ',');
        if (comma != NULL) {
            *comma = 0;
            streams = number(comma + 1);
        }
        tile_size = number(argv[i]);
        run_tiles(2, tile_size, streams);
    }
    if (argc < 3) run_tiles(2, 1024, 32);
    DO(cu.unload(loaded));
    DO(cu.memory_free(a));
    DO(cu.memory_free(factor));
    driver_end(info.ordinal);
    return 0;
}
