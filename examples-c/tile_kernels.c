#include "tile_kernels.h"

#include "tile_device.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>

/* The first row of c whose pivot is not a positive number, or -1. LAPACK compares pivots with 0, which lets a NaN through. */
static int bad_pivot(const struct tile *c, lapack_int info) {
    if (info > 0)
        return (int)info - 1;
    for (int i = 0; i < c->rows; i++)
        if (!isfinite(c->values[(size_t)i * (size_t)c->rows + (size_t)i]))
            return i;
    return -1;
}

/* What has become of a factorised tile. */
static int32_t judge(norn_self *self, const struct tile *c, lapack_int info) {
    int row = bad_pivot(c, info);
    if (info == 0 && row < 0)
        return 0;

    char text[128];
    if (info < 0)
        snprintf(text, sizeof text, "LAPACK refused argument %d", -(int)info);
    else
        snprintf(text, sizeof text, "tile (%d, %d) is not positive definite: bad pivot in row %d of the matrix",
                 c->row + 1, c->col + 1, c->first_row + row + 1);
    return norn_self_fail(self, info != 0 ? (int32_t)info : row + 1, text);
}

static int32_t potrf(norn_self *self, void *arg) {
    const struct operands *o = arg;
    struct tile *c = o->c;

    /* The _work form: LAPACKE_dpotrf would look through the tile for NaNs first. */
    return judge(self, c, LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', c->rows, c->values, c->rows));
}

static int32_t verdict(norn_self *self, void *arg) {
    const struct operands *o = arg;
    return judge(self, o->c, o->device->here[o->c->col]);
}

static int32_t trsm(norn_self *self, void *arg) {
    const struct operands *o = arg;
    (void)self;
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, o->c->rows, o->c->cols, 1.0,
                o->a->values, o->a->rows, o->c->values, o->c->rows);
    return 0;
}

static int32_t syrk(norn_self *self, void *arg) {
    const struct operands *o = arg;
    (void)self;
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, o->c->rows, o->a->cols, -1.0, o->a->values, o->a->rows, 1.0,
                o->c->values, o->c->rows);
    return 0;
}

static int32_t gemm(norn_self *self, void *arg) {
    const struct operands *o = arg;
    (void)self;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, o->c->rows, o->c->cols, o->a->cols, -1.0, o->a->values,
                o->a->rows, o->b->values, o->b->rows, 1.0, o->c->values, o->c->rows);
    return 0;
}

static int32_t syrk_t(norn_self *self, void *arg) {
    const struct operands *o = arg;
    (void)self;
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, o->c->rows, o->a->rows, 1.0, o->a->values, o->a->rows, 1.0,
                o->c->values, o->c->rows);
    return 0;
}

static int32_t gemm_t(norn_self *self, void *arg) {
    const struct operands *o = arg;
    (void)self;
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, o->c->rows, o->c->cols, o->a->rows, 1.0, o->a->values,
                o->a->rows, o->b->values, o->b->rows, 1.0, o->c->values, o->c->rows);
    return 0;
}

static void add_product(const struct operands *o, CBLAS_TRANSPOSE transpose) {
    cblas_dgemv(CblasColMajor, transpose, o->a->rows, o->a->cols, o->scale, o->a->values, o->a->rows, o->b->values, 1,
                1.0, o->c->values, 1);
}

static int32_t gemv(norn_self *self, void *arg) {
    (void)self;
    add_product(arg, CblasNoTrans);
    return 0;
}

static int32_t gemv_t(norn_self *self, void *arg) {
    (void)self;
    add_product(arg, CblasTrans);
    return 0;
}

static void solve_triangle(const struct operands *o, CBLAS_TRANSPOSE transpose) {
    cblas_dtrsv(CblasColMajor, CblasLower, transpose, CblasNonUnit, o->c->rows, o->a->values, o->a->rows, o->c->values, 1);
}

static int32_t trsv(norn_self *self, void *arg) {
    (void)self;
    solve_triangle(arg, CblasNoTrans);
    return 0;
}

static int32_t trsv_t(norn_self *self, void *arg) {
    (void)self;
    solve_triangle(arg, CblasTrans);
    return 0;
}

static int32_t axpy(norn_self *self, void *arg) {
    const struct operands *o = arg;
    (void)self;
    cblas_daxpy(o->c->rows, o->scale, o->a->values, 1, o->c->values, 1);
    return 0;
}

/* Multiplications and additions of each, as usually counted. */
static double potrf_flops(const struct operands *o) { return pow(o->c->rows, 3) / 3.0; }
static double trsm_flops(const struct operands *o) { return (double)o->c->rows * o->c->cols * o->c->cols; }
static double syrk_flops(const struct operands *o) { return (double)o->c->rows * o->c->rows * o->a->cols; }
static double gemm_flops(const struct operands *o) { return 2.0 * o->c->rows * o->c->cols * o->a->cols; }
static double syrk_t_flops(const struct operands *o) { return (double)o->c->rows * o->c->rows * o->a->rows; }
static double gemm_t_flops(const struct operands *o) { return 2.0 * o->c->rows * o->c->cols * o->a->rows; }
static double gemv_flops(const struct operands *o) { return 2.0 * o->a->rows * o->a->cols; }
static double trsv_flops(const struct operands *o) { return (double)o->c->rows * o->c->rows; }
static double axpy_flops(const struct operands *o) { return 2.0 * o->c->rows; }

static double no_flops(const struct operands *o) {
    (void)o;
    return 0.0;
}

const struct kernel kernel_potrf = {"potrf", potrf, potrf_flops, &device_potrf};
const struct kernel kernel_trsm = {"trsm", trsm, trsm_flops, &device_trsm};
const struct kernel kernel_syrk = {"syrk", syrk, syrk_flops, &device_syrk};
const struct kernel kernel_gemm = {"gemm", gemm, gemm_flops, &device_gemm};
const struct kernel kernel_verdict = {"verdict", verdict, no_flops, NULL};
const struct kernel kernel_syrk_t = {"syrk_t", syrk_t, syrk_t_flops, NULL};
const struct kernel kernel_gemm_t = {"gemm_t", gemm_t, gemm_t_flops, NULL};
const struct kernel kernel_gemv = {"gemv", gemv, gemv_flops, NULL};
const struct kernel kernel_gemv_t = {"gemv_t", gemv_t, gemv_flops, NULL};
const struct kernel kernel_trsv = {"trsv", trsv, trsv_flops, NULL};
const struct kernel kernel_trsv_t = {"trsv_t", trsv_t, trsv_flops, NULL};
const struct kernel kernel_axpy = {"axpy", axpy, axpy_flops, NULL};
