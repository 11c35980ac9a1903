/* The bodies of the tasks: one BLAS or LAPACK call on whole tiles each. */
#ifndef TILE_KERNELS_H
#define TILE_KERNELS_H

#include "tiles.h"

/* What a body gets. Small enough for NORN_COPY_ARG; the tiles themselves outlive the run. */
struct operands {
    const struct tile *a, *b; /* read; NULL where the kernel has no use for it */
    struct tile *c;           /* updated */
    double scale;
};

struct kernel {
    const char *name; /* a literal: norn borrows it */
    norn_task_fn run;
    double (*flops)(const struct operands *operands);
};

extern const struct kernel kernel_potrf;  /* c = its lower Cholesky factor; fails when c is not positive definite */
extern const struct kernel kernel_trsm;   /* c = c a^-T, a a lower triangle */
extern const struct kernel kernel_syrk;   /* c -= a a^T, lower triangle */
extern const struct kernel kernel_gemm;   /* c -= a b^T */
extern const struct kernel kernel_syrk_t; /* c += a^T a, lower triangle */
extern const struct kernel kernel_gemm_t; /* c += a^T b */
extern const struct kernel kernel_gemv;   /* c += scale a b, b and c vectors */
extern const struct kernel kernel_gemv_t; /* c += scale a^T b */
extern const struct kernel kernel_trsv;   /* c = a^-1 c, a a lower triangle */
extern const struct kernel kernel_trsv_t; /* c = a^-T c */
extern const struct kernel kernel_axpy;   /* c += scale a */

#endif
