/* A cuSOLVER for the stand-in driver: handles, and the Cholesky factorisation, by plain loops.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <math.h>

#include "kernels.h"

enum { FILL_LOWER = 0, WORK = 32 };

typedef struct handle *solver;

int cusolverDnCreate(solver *made);
int cusolverDnDestroy(solver h);
int cusolverDnSetStream(solver h, void *stream);
int cusolverDnGetStream(solver h, void **stream);
int cusolverDnDpotrf_bufferSize(solver h, int fill, int n, double *a, int lda, int *count);
int cusolverDnDpotrf(solver h, int fill, int n, double *a, int lda, double *work, int count, int *info);

/* Arguments: a n lda work info. The lower factor in place; info: 0, or the first pivot that is not positive, from 1. */
static CUresult run_potrf(const standin_launch *l) {
    double *a = pointer_at(l, 0), *work = pointer_at(l, 3);
    const int n = int_at(l, 1), lda = int_at(l, 2);
    int *info = pointer_at(l, 4);
    *info = 0;
    for (int j = 0; j < n; j++) {
        double pivot = a[(size_t)j * lda + j];
        for (int p = 0; p < j; p++) pivot -= a[(size_t)p * lda + j] * a[(size_t)p * lda + j];
        if (!(pivot > 0)) {
            *info = j + 1;
            return CUDA_SUCCESS;
        }
        work[j % WORK] = pivot = sqrt(pivot);
        a[(size_t)j * lda + j] = pivot;
        for (int i = j + 1; i < n; i++) {
            double x = a[(size_t)j * lda + i];
            for (int p = 0; p < j; p++) x -= a[(size_t)p * lda + i] * a[(size_t)p * lda + j];
            a[(size_t)j * lda + i] = x / pivot;
        }
    }
    return CUDA_SUCCESS;
}
static void potrf_touches(const standin_launch *l, standin_touch_fn touch, void *to) {
    touch_matrix(touch, to, 0, int_at(l, 1), int_at(l, 1), int_at(l, 2), 1);
    touch(to, 3, 0, WORK * sizeof(double), 1);
    touch(to, 4, 0, sizeof(int), 1);
}

static const standin_kernel kernels[] = {{"standin_dpotrf", "piipp", run_potrf, potrf_touches}};
static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry standin_dpotrf(.param .u64 a, .param .u32 n, .param .u32 lda, .param .u64 work, "
                          ".param .u64 info)\n{\nret;\n}\n";

int cusolverDnCreate(solver *made) { return handle_create(made, kernels, sizeof kernels / sizeof *kernels, ptx); }
int cusolverDnDestroy(solver h) { return handle_destroy(h); }
int cusolverDnSetStream(solver h, void *stream) {
    h->stream = stream;
    return SUCCESS;
}
int cusolverDnGetStream(solver h, void **stream) {
    *stream = h->stream;
    return SUCCESS;
}
int cusolverDnDpotrf_bufferSize(solver h, int fill, int n, double *a, int lda, int *count) {
    (void)h, (void)n, (void)a, (void)lda;
    if (fill != FILL_LOWER) return NOT_SUPPORTED;
    *count = WORK;
    return SUCCESS;
}
int cusolverDnDpotrf(solver h, int fill, int n, double *a, int lda, double *work, int count, int *info) {
    void *arguments[] = {&a, &n, &lda, &work, &info};
    if (fill != FILL_LOWER) return NOT_SUPPORTED;
    if (lda < n || count < WORK) return INVALID_VALUE;
    return handle_launch(h, "standin_dpotrf", arguments);
}
