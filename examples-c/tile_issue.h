/* One kernel at a time: as a task of norn, or at once. */
#ifndef TILE_ISSUE_H
#define TILE_ISSUE_H

#include "tile_kernels.h"

/* How the kernels are run. */
struct execution {
    norn_runtime *rt; /* NULL: each kernel at once, by a plain call */
    norn_group group; /* of the tasks */
    struct tile_device *device; /* factorises; NULL: this process does */
    int on_device;              /* the kernels issued now that have a form for the device are for it */
    uint64_t kernels; /* counted here: kernels issued, and their arithmetic */
    double flops;
};

/* The columns from left to right are the critical path: whatever brings an earlier column forward goes first, and
 * within a column the kernel that more others wait for. */
enum urgency { URGENCY_GEMM, URGENCY_SYRK, URGENCY_TRSM, URGENCY_POTRF, URGENCIES };

/* Priority of a kernel that brings column `col` of the factor `l` forward. */
int32_t urgency(const struct tiles *l, int col, enum urgency of);

/* Returns what norn_submit or, without a runtime, the kernel itself returns. */
int32_t issue(struct execution *execution, const struct kernel *kernel, int32_t priority, struct operands operands);

#endif
