#include "tile_device.h"

#include <dlfcn.h>
#include <norn_cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As cublas_v2.h and cusolverDn.h have them. */
enum { OP_N = 0, OP_T = 1, FILL_LOWER = 0, SIDE_RIGHT = 1, DIAG_NON_UNIT = 0 };
typedef struct cublasContext *blas_handle;
typedef struct cusolverDnContext *solver_handle;

static struct {
    int (*trsm)(blas_handle, int side, int fill, int op, int diag, int m, int n, const double *alpha, const double *a,
                int lda, double *b, int ldb);
    int (*syrk)(blas_handle, int fill, int op, int n, int k, const double *alpha, const double *a, int lda,
                const double *beta, double *c, int ldc);
    int (*gemm)(blas_handle, int op_a, int op_b, int m, int n, int k, const double *alpha, const double *a, int lda,
                const double *b, int ldb, const double *beta, double *c, int ldc);
    int (*potrf_size)(solver_handle, int fill, int n, double *a, int lda, int *count);
    int (*potrf)(solver_handle, int fill, int n, double *a, int lda, double *work, int count, int *info);
} library;

static const double one = 1.0, minus_one = -1.0;

/* ----- the kernels, as tasks that queue and end ----- */

static int32_t trsm(norn_self *self, void *stream, void *arg) {
    const struct operands *o = arg;
    blas_handle handle;
    (void)stream; /* the handle has it */
    if (norn_cuda_cublas(self, &handle) != NORN_OK)
        return norn_self_fail(self, -1, norn_last_error());
    int code = library.trsm(handle, SIDE_RIGHT, FILL_LOWER, OP_T, DIAG_NON_UNIT, o->c->rows, o->c->cols, &one,
                            o->a->device_values, o->a->rows, o->c->device_values, o->c->rows);
    return norn_cuda_check(self, code, "cublasDtrsm");
}

static int32_t syrk(norn_self *self, void *stream, void *arg) {
    const struct operands *o = arg;
    blas_handle handle;
    (void)stream;
    if (norn_cuda_cublas(self, &handle) != NORN_OK)
        return norn_self_fail(self, -1, norn_last_error());
    int code = library.syrk(handle, FILL_LOWER, OP_N, o->c->rows, o->a->cols, &minus_one, o->a->device_values, o->a->rows,
                            &one, o->c->device_values, o->c->rows);
    return norn_cuda_check(self, code, "cublasDsyrk");
}

static int32_t gemm(norn_self *self, void *stream, void *arg) {
    const struct operands *o = arg;
    blas_handle handle;
    (void)stream;
    if (norn_cuda_cublas(self, &handle) != NORN_OK)
        return norn_self_fail(self, -1, norn_last_error());
    int code = library.gemm(handle, OP_N, OP_T, o->c->rows, o->c->cols, o->a->cols, &minus_one, o->a->device_values,
                            o->a->rows, o->b->device_values, o->b->rows, &one, o->c->device_values, o->c->rows);
    return norn_cuda_check(self, code, "cublasDgemm");
}

/* Whether the tile is positive definite is known when it has run: the verdict is copied back and read by a host task. */
static int32_t potrf(norn_self *self, void *stream, void *arg) {
    const struct operands *o = arg;
    const struct tile_device *device = o->device;
    solver_handle handle;
    (void)stream;
    if (norn_cuda_cusolver(self, &handle) != NORN_OK)
        return norn_self_fail(self, -1, norn_last_error());
    int code = library.potrf(handle, FILL_LOWER, o->c->rows, o->c->device_values, o->c->rows, device->work_values,
                             device->work_count, (int *)device->verdict_values + o->c->col);
    return norn_cuda_check(self, code, "cusolverDnDpotrf");
}

const norn_enqueue_fn device_trsm = trsm, device_syrk = syrk, device_gemm = gemm, device_potrf = potrf;

/* ----- the libraries ----- */

static void *open_library(const char *const *files) {
    for (; *files != NULL; files++) {
        void *opened = dlopen(*files, RTLD_NOW | RTLD_GLOBAL);
        if (opened != NULL)
            return opened;
    }
    return NULL;
}

/* POSIX lets a function's address pass through a pointer to data; ISO C has no way to say so. */
static int find(void *opened, const char *name, void *function, size_t bytes) {
    void *symbol = opened == NULL ? NULL : dlsym(opened, name);
    memcpy(function, &symbol, bytes);
    return symbol != NULL;
}
#define FIND(opened, name, function) find(opened, name, &(function), sizeof(function))

/* NULL, or the name of the one that is missing. */
static const char *missing_library(void) {
    static const char *const blas_files[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so", NULL};
    static const char *const solver_files[] = {"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so", NULL};
    void *blas = open_library(blas_files), *solver = open_library(solver_files);
    if (FIND(blas, "cublasDtrsm_v2", library.trsm) && FIND(blas, "cublasDsyrk_v2", library.syrk) &&
        FIND(blas, "cublasDgemm_v2", library.gemm) &&
        FIND(solver, "cusolverDnDpotrf_bufferSize", library.potrf_size) &&
        FIND(solver, "cusolverDnDpotrf", library.potrf))
        return NULL;
    return blas == NULL || library.gemm == NULL ? "cuBLAS" : "cuSOLVER";
}

int tile_device_open(struct tile_device *device, norn_runtime *rt, char why[DEVICE_WHY_BYTES]) {
    *device = (struct tile_device){.work_count = 0};
    norn_device_config config = NORN_DEVICE_CONFIG_INIT;
    config.select = NORN_DEVICE_LOCAL_RANK;
    norn_device_info info = NORN_DEVICE_INFO_INIT;
    if (norn_device_open(rt, &config, &device->place) != NORN_OK ||
        norn_device_get(rt, device->place, &info) != NORN_OK) {
        snprintf(why, DEVICE_WHY_BYTES, "%s", norn_last_error());
        return -1;
    }
    snprintf(device->name, sizeof device->name, "%s", info.name);
    const char *missing = missing_library();
    if (missing == NULL)
        return 0;
    snprintf(why, DEVICE_WHY_BYTES, "%s is of no use without %s, which is not on the loader's path", device->name, missing);
    return -1;
}

/* ----- the tiles ----- */

static norn_status allocate(const struct tile_device *device, norn_runtime *rt, size_t bytes, const char *name,
                            norn_data *data, void **address) {
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    desc.bytes = bytes;
    desc.kind = NORN_MEMORY_DEVICE;
    desc.place = device->place;
    desc.name = name;
    norn_status status = norn_data_alloc(rt, &desc, data);
    return status == NORN_OK ? norn_data_pointer(rt, *data, address, NULL) : status;
}

struct size_question {
    int size, count;
};

/* The solver says how much memory it wants for a tile, and only a task has a handle of it. */
static int32_t ask_size(norn_self *self, void *stream, void *arg) {
    struct size_question *question = arg;
    solver_handle handle;
    (void)stream;
    if (norn_cuda_cusolver(self, &handle) != NORN_OK)
        return norn_self_fail(self, -1, norn_last_error());
    int code = library.potrf_size(handle, FILL_LOWER, question->size, NULL, question->size, &question->count);
    return norn_cuda_check(self, code, "cusolverDnDpotrf_bufferSize");
}

static norn_status allocate_work(struct tile_device *device, norn_runtime *rt, const struct tiles *tiles) {
    struct size_question question = {.size = tiles->size < tiles->rows ? tiles->size : tiles->rows};
    norn_task task = NORN_TASK_INIT;
    norn_token asked;
    task.enqueue = ask_size;
    task.name = "potrf workspace";
    task.arg = &question;
    task.place = device->place;
    norn_status status = norn_submit(rt, &task, &asked);
    if (status == NORN_OK)
        status = norn_await(rt, asked, -1);
    if (status != NORN_OK)
        return status;
    device->work_count = question.count;
    status = allocate(device, rt, ((size_t)question.count + 1) * sizeof(double), "workspace", &device->work, &device->work_values);
    if (status == NORN_OK)
        status = allocate(device, rt, (size_t)tiles->across * sizeof(int), "verdicts", &device->verdicts, &device->verdict_values);
    if (status != NORN_OK)
        return status;
    device->here = calloc((size_t)tiles->across, sizeof *device->here);
    if (device->here == NULL)
        return NORN_E_MEMORY;
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    desc.ptr = device->here;
    desc.bytes = (size_t)tiles->across * sizeof *device->here;
    desc.name = "verdicts";
    return norn_data_register(rt, &desc, &device->verdicts_here);
}

static int has_own_memory(const struct tile *tile) {
    return tile->values != NULL && !tile->borrows;
}

norn_status tile_device_add(const struct tile_device *device, norn_runtime *rt, struct tiles *tiles) {
    norn_status status = NORN_OK;
    size_t count = (size_t)tiles->down * (size_t)tiles->across;
    for (struct tile *tile = tiles->grid; tile < tiles->grid + count && status == NORN_OK; tile++)
        if (has_own_memory(tile))
            status = allocate(device, rt, tile_values(tile) * sizeof(double), "tile on the device", &tile->on_device,
                              &tile->device_values);
    if (status != NORN_OK)
        tile_device_remove(rt, tiles);
    return status;
}

norn_status tile_device_register(struct tile_device *device, norn_runtime *rt, struct tiles *tiles) {
    norn_status status = allocate_work(device, rt, tiles);
    if (status == NORN_OK)
        status = tile_device_add(device, rt, tiles);
    if (status != NORN_OK)
        tile_device_unregister(device, rt, tiles);
    return status;
}

static void forget(norn_runtime *rt, norn_data *data, norn_status *first) {
    if (data->id == 0)
        return;
    norn_status status = norn_data_unregister(rt, *data);
    data->id = 0;
    if (*first == NORN_OK)
        *first = status;
}

norn_status tile_device_remove(norn_runtime *rt, struct tiles *tiles) {
    norn_status first = NORN_OK;
    size_t count = (size_t)tiles->down * (size_t)tiles->across;
    for (struct tile *tile = tiles->grid; tile < tiles->grid + count; tile++)
        if (!tile->borrows)
            forget(rt, &tile->on_device, &first);
    return first;
}

norn_status tile_device_unregister(struct tile_device *device, norn_runtime *rt, struct tiles *tiles) {
    norn_status first = tile_device_remove(rt, tiles);
    forget(rt, &device->work, &first);
    forget(rt, &device->verdicts, &first);
    forget(rt, &device->verdicts_here, &first);
    free(device->here);
    device->here = NULL;
    return first;
}

static norn_status copy(norn_runtime *rt, norn_data from, norn_data to, norn_type type, uint64_t count, norn_group group) {
    norn_slice source = norn_slice_of(from, type, count), target = norn_slice_of(to, type, count);
    norn_task how = NORN_TASK_INIT;
    how.group = group;
    how.name = "copy";
    return norn_copy(rt, &source, &target, &how, NULL);
}

norn_status tile_device_upload(struct tile_device *device, norn_runtime *rt, const struct tiles *tiles, norn_group group) {
    norn_status status = NORN_OK;
    size_t count = (size_t)tiles->down * (size_t)tiles->across;
    (void)device;
    for (const struct tile *tile = tiles->grid; tile < tiles->grid + count && status == NORN_OK; tile++)
        if (has_own_memory(tile))
            status = copy(rt, tile->data, tile->on_device, NORN_F64, tile_values(tile), group);
    return status;
}

norn_status tile_device_download(struct tile_device *device, norn_runtime *rt, const struct tiles *tiles, norn_group group) {
    norn_status status = copy(rt, device->verdicts, device->verdicts_here, NORN_I32, (uint64_t)tiles->across, group);
    size_t count = (size_t)tiles->down * (size_t)tiles->across;
    for (const struct tile *tile = tiles->grid; tile < tiles->grid + count && status == NORN_OK; tile++)
        if (has_own_memory(tile))
            status = copy(rt, tile->on_device, tile->data, NORN_F64, tile_values(tile), group);
    return status;
}
