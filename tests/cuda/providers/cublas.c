/* A cuBLAS for the stand-in driver: handles, and the calls that the example makes, by plain loops.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "kernels.h"

enum { OP_N = 0, OP_T = 1, FILL_LOWER = 0, SIDE_RIGHT = 1, DIAG_NON_UNIT = 0 };

typedef struct handle *blas;

int cublasCreate_v2(blas *made);
int cublasDestroy_v2(blas h);
int cublasSetStream_v2(blas h, void *stream);
int cublasGetStream_v2(blas h, void **stream);
int cublasDgemm_v2(blas h, int op_a, int op_b, int m, int n, int k, const double *alpha, const double *a, int lda,
                   const double *b, int ldb, const double *beta, double *c, int ldc);
int cublasDsyrk_v2(blas h, int fill, int op, int n, int k, const double *alpha, const double *a, int lda, const double *beta,
                   double *c, int ldc);
int cublasDtrsm_v2(blas h, int side, int fill, int op, int diag, int m, int n, const double *alpha, const double *a, int lda,
                   double *b, int ldb);

/* Arguments: a lda b ldb c ldc m n k alpha beta. C = alpha A B^T + beta C; of the syrk, whose b is a, the lower half. */
static CUresult product(const standin_launch *l, int lower) {
    const double *a = pointer_at(l, 0), *b = pointer_at(l, 2), alpha = double_at(l, 9), beta = double_at(l, 10);
    double *c = pointer_at(l, 4);
    const int lda = int_at(l, 1), ldb = int_at(l, 3), ldc = int_at(l, 5), m = int_at(l, 6), n = int_at(l, 7), k = int_at(l, 8);
    for (int j = 0; j < n; j++)
        for (int i = lower ? j : 0; i < m; i++) {
            double sum = 0;
            for (int p = 0; p < k; p++) sum += a[(size_t)p * lda + i] * b[(size_t)p * ldb + j];
            c[(size_t)j * ldc + i] = alpha * sum + beta * c[(size_t)j * ldc + i];
        }
    return CUDA_SUCCESS;
}
static CUresult run_gemm(const standin_launch *l) { return product(l, 0); }
static CUresult run_syrk(const standin_launch *l) { return product(l, 1); }
static void product_touches(const standin_launch *l, standin_touch_fn touch, void *to) {
    touch_matrix(touch, to, 0, int_at(l, 6), int_at(l, 8), int_at(l, 1), 0);
    touch_matrix(touch, to, 2, int_at(l, 7), int_at(l, 8), int_at(l, 3), 0);
    touch_matrix(touch, to, 4, int_at(l, 6), int_at(l, 7), int_at(l, 5), 1);
}

/* Arguments: a lda b ldb m n alpha. B = alpha B A^-T, A a lower triangle. */
static CUresult run_trsm(const standin_launch *l) {
    const double *a = pointer_at(l, 0), alpha = double_at(l, 6);
    double *b = pointer_at(l, 2);
    const int lda = int_at(l, 1), ldb = int_at(l, 3), m = int_at(l, 4), n = int_at(l, 5);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            double x = alpha * b[(size_t)j * ldb + i];
            for (int p = 0; p < j; p++) x -= b[(size_t)p * ldb + i] * a[(size_t)p * lda + j];
            b[(size_t)j * ldb + i] = x / a[(size_t)j * lda + j];
        }
    return CUDA_SUCCESS;
}
static void trsm_touches(const standin_launch *l, standin_touch_fn touch, void *to) {
    touch_matrix(touch, to, 0, int_at(l, 5), int_at(l, 5), int_at(l, 1), 0);
    touch_matrix(touch, to, 2, int_at(l, 4), int_at(l, 5), int_at(l, 3), 1);
}

static const standin_kernel kernels[] = {{"standin_dgemm", "pipipiiiidd", run_gemm, product_touches},
                                         {"standin_dsyrk", "pipipiiiidd", run_syrk, product_touches},
                                         {"standin_dtrsm", "pipiiid", run_trsm, trsm_touches}};

#define PRODUCT                                                                                                              \
    "(.param .u64 a, .param .u32 lda, .param .u64 b, .param .u32 ldb, .param .u64 c, .param .u32 ldc, .param .u32 m, "      \
    ".param .u32 n, .param .u32 k, .param .f64 alpha, .param .f64 beta)\n{\nret;\n}\n"
static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry standin_dgemm" PRODUCT ".visible .entry standin_dsyrk" PRODUCT
                          ".visible .entry standin_dtrsm(.param .u64 a, .param .u32 lda, .param .u64 b, .param .u32 ldb, "
                          ".param .u32 m, .param .u32 n, .param .f64 alpha)\n{\nret;\n}\n";

int cublasCreate_v2(blas *made) { return handle_create(made, kernels, sizeof kernels / sizeof *kernels, ptx); }
int cublasDestroy_v2(blas h) { return handle_destroy(h); }
int cublasSetStream_v2(blas h, void *stream) {
    h->stream = stream;
    return SUCCESS;
}
int cublasGetStream_v2(blas h, void **stream) {
    *stream = h->stream;
    return SUCCESS;
}

static int launch_product(blas h, const char *name, const double *a, int lda, const double *b, int ldb, double *c, int ldc,
                          int m, int n, int k, double alpha, double beta) {
    void *arguments[] = {&a, &lda, &b, &ldb, &c, &ldc, &m, &n, &k, &alpha, &beta};
    return handle_launch(h, name, arguments);
}

int cublasDgemm_v2(blas h, int op_a, int op_b, int m, int n, int k, const double *alpha, const double *a, int lda,
                   const double *b, int ldb, const double *beta, double *c, int ldc) {
    if (op_a != OP_N || op_b != OP_T) return NOT_SUPPORTED;
    if (lda < m || ldb < n || ldc < m) return INVALID_VALUE;
    return launch_product(h, "standin_dgemm", a, lda, b, ldb, c, ldc, m, n, k, *alpha, *beta);
}
int cublasDsyrk_v2(blas h, int fill, int op, int n, int k, const double *alpha, const double *a, int lda, const double *beta,
                   double *c, int ldc) {
    if (fill != FILL_LOWER || op != OP_N) return NOT_SUPPORTED;
    if (lda < n || ldc < n) return INVALID_VALUE;
    return launch_product(h, "standin_dsyrk", a, lda, a, lda, c, ldc, n, n, k, *alpha, *beta);
}
int cublasDtrsm_v2(blas h, int side, int fill, int op, int diag, int m, int n, const double *alpha, const double *a, int lda,
                   double *b, int ldb) {
    double scale = *alpha;
    void *arguments[] = {&a, &lda, &b, &ldb, &m, &n, &scale};
    if (side != SIDE_RIGHT || fill != FILL_LOWER || op != OP_T || diag != DIAG_NON_UNIT) return NOT_SUPPORTED;
    if (lda < n || ldb < m) return INVALID_VALUE;
    return handle_launch(h, "standin_dtrsm", arguments);
}
