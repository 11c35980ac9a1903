/* The bodies of the tasks: one BLAS or LAPACK call on whole tiles each. */
#ifndef TILE_KERNELS_H
#define TILE_KERNELS_H

#include "tiles.h"

/* What a body gets. Small enough for NORN_COPY_ARG; the tiles themselves outlive the run. */
struct operands {
    const struct tile *a, *b; /* read; NULL where the kernel has no use for it */
    struct tile *c;           /* updated */
    double scale;
    const struct tile_device *device; /* of a kernel on the device */
};

struct kernel {
    const char *name; /* a literal: norn borrows it */
    norn_task_fn run;
    double (*flops)(const struct operands *operands);
    const norn_enqueue_fn *enqueue; /* the same on a device, NULL where it stays on the host */
};

/* The kernels that a device takes, in tile_device.c. */
struct tile_device;
extern const norn_enqueue_fn device_potrf, device_trsm, device_syrk, device_gemm;

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
extern const struct kernel kernel_verdict; /* fails as potrf would have, if the device's found c not positive definite */
extern const struct kernel kernel_axpy;   /* c += scale a */

#endif
