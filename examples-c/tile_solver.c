#include "tile_solver.h"

#include "run.h"
#include "tile_device.h"

#include <stddef.h>

int tile_system_create(struct tile_system *system, int rows, int cols, int tile) {
    *system = (struct tile_system){.least_squares = rows != cols};
    if (tiles_create(&system->factor, cols, cols, tile, TILES_LOWER) != 0 ||
        tiles_create(&system->solution, cols, 1, tile, TILES_FULL) != 0)
        return -1;
    if (system->least_squares && (tiles_create(&system->matrix, rows, cols, tile, TILES_FULL) != 0 ||
                                  tiles_create(&system->rhs, rows, 1, tile, TILES_FULL) != 0 ||
                                  tiles_create(&system->correction, cols, 1, tile, TILES_FULL) != 0))
        return -1;
    return 0;
}

void tile_system_free(struct tile_system *system) {
    tiles_free(&system->factor);
    tiles_free(&system->solution);
    tiles_free(&system->matrix);
    tiles_free(&system->rhs);
    tiles_free(&system->correction);
}

void tile_system_load(struct tile_system *system, const double *matrix, const double *rhs) {
    if (!system->least_squares) {
        tiles_load(&system->factor, matrix);
        tiles_load(&system->solution, rhs);
        return;
    }
    tiles_load(&system->matrix, matrix);
    tiles_load(&system->rhs, rhs);
    tiles_clear(&system->factor);
    tiles_clear(&system->solution);
    tiles_clear(&system->correction);
}

norn_status tile_system_register(struct tile_system *system, norn_runtime *rt) {
    norn_status status = tiles_register(&system->factor, rt, "factor");
    if (status == NORN_OK)
        status = tiles_register(&system->solution, rt, "solution");
    if (status == NORN_OK && system->least_squares)
        status = tiles_register(&system->matrix, rt, "matrix");
    if (status == NORN_OK && system->least_squares)
        status = tiles_register(&system->rhs, rt, "right-hand side");
    if (status == NORN_OK && system->least_squares)
        status = tiles_register(&system->correction, rt, "correction");
    if (status != NORN_OK)
        tile_system_unregister(system, rt);
    return status;
}

norn_status tile_system_unregister(struct tile_system *system, norn_runtime *rt) {
    struct tiles *all[] = {&system->factor, &system->solution, &system->matrix, &system->rhs, &system->correction};
    norn_status first = NORN_OK;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        norn_status status = tiles_unregister(all[i], rt);
        if (first == NORN_OK)
            first = status;
    }
    return first;
}

double tile_system_task_estimate(int rows, int cols, int tile) {
    double down = (rows - 1) / tile + 1, across = (cols - 1) / tile + 1;
    double tasks = across * (across + 1) * (across + 2) / 6;
    return rows == cols ? tasks : tasks + down * across * (across + 1) / 2;
}

/* N = A^T A (lower tiles) and c = A^T b. */
static int32_t form_normal_equations(struct execution *execution, const struct tiles *a, const struct tiles *b,
                                     const struct tiles *n, const struct tiles *c) {
    int32_t status = 0;
    for (int row = 0; row < a->down; row++) {
        for (int j = 0; j < a->across; j++) {
            struct tile *aj = tiles_at(a, row, j);
            status = issue(execution, &kernel_syrk_t, urgency(n, j, URGENCY_SYRK),
                           (struct operands){.a = aj, .c = tiles_at(n, j, j)});
            for (int i = j + 1; i < a->across && status == 0; i++)
                status = issue(execution, &kernel_gemm_t, urgency(n, j, URGENCY_GEMM),
                               (struct operands){.a = tiles_at(a, row, i), .b = aj, .c = tiles_at(n, i, j)});
            if (status == 0)
                status = issue(execution, &kernel_gemv_t, 0,
                               (struct operands){.a = aj, .b = tiles_at(b, row, 0), .c = tiles_at(c, j, 0), .scale = 1.0});
            if (status != 0)
                return status;
        }
    }
    return status;
}

/* L L^T = N in place, right-looking: factorise a column of tiles, then take its share from all columns behind it. */
static int32_t factorise(struct execution *execution, const struct tiles *l) {
    int32_t status = 0;
    for (int k = 0; k < l->across; k++) {
        struct tile *pivot = tiles_at(l, k, k);
        status = issue(execution, &kernel_potrf, urgency(l, k, URGENCY_POTRF), (struct operands){.c = pivot});
        for (int i = k + 1; i < l->down && status == 0; i++)
            status = issue(execution, &kernel_trsm, urgency(l, k, URGENCY_TRSM),
                           (struct operands){.a = pivot, .c = tiles_at(l, i, k)});
        for (int j = k + 1; j < l->across && status == 0; j++) {
            struct tile *lj = tiles_at(l, j, k);
            status = issue(execution, &kernel_syrk, urgency(l, j, URGENCY_SYRK),
                           (struct operands){.a = lj, .c = tiles_at(l, j, j)});
            for (int i = j + 1; i < l->down && status == 0; i++)
                status = issue(execution, &kernel_gemm, urgency(l, j, URGENCY_GEMM),
                               (struct operands){.a = tiles_at(l, i, k), .b = lj, .c = tiles_at(l, i, j)});
        }
        if (status != 0)
            return status;
    }
    return status;
}

/* The same on the device. The phases are waited for so that each can be timed; norn needs none of these waits. */
static int32_t factorise_there(struct execution *execution, const struct tiles *l) {
    struct tile_device *device = execution->device;
    norn_runtime *rt = execution->rt;
    double start = now(), flops = execution->flops;
    int32_t status = tile_device_upload(device, rt, l, execution->group);
    if (status == NORN_OK)
        status = norn_drain(rt, -1);
    double uploaded = now();
    execution->on_device = 1;
    if (status == NORN_OK)
        status = factorise(execution, l);
    execution->on_device = 0;
    if (status == NORN_OK)
        status = norn_drain(rt, -1);
    double factorised = now();
    if (status == NORN_OK)
        status = tile_device_download(device, rt, l, execution->group);
    if (status == NORN_OK)
        status = norn_drain(rt, -1);
    device->factor_seconds = factorised - uploaded;
    device->copy_seconds = uploaded - start + now() - factorised;
    device->factor_flops = execution->flops - flops;
    /* Each names its tile as updated, so that everything that reads the tile comes after it. */
    for (int k = 0; k < l->across && status == NORN_OK; k++)
        status = issue(execution, &kernel_verdict, 0, (struct operands){.c = tiles_at(l, k, k)});
    return status;
}

/* x = L^-1 x, then x = L^-T x. */
static int32_t substitute(struct execution *execution, const struct tiles *l, const struct tiles *x) {
    int32_t status = 0;
    for (int k = 0; k < l->across && status == 0; k++) {
        struct tile *xk = tiles_at(x, k, 0);
        status = issue(execution, &kernel_trsv, 0, (struct operands){.a = tiles_at(l, k, k), .c = xk});
        for (int i = k + 1; i < l->down && status == 0; i++)
            status = issue(execution, &kernel_gemv, 0, (struct operands){.a = tiles_at(l, i, k), .b = xk, .c = tiles_at(x, i, 0), .scale = -1.0});
    }
    for (int k = l->across - 1; k >= 0 && status == 0; k--) {
        struct tile *xk = tiles_at(x, k, 0);
        status = issue(execution, &kernel_trsv_t, 0, (struct operands){.a = tiles_at(l, k, k), .c = xk});
        for (int i = k - 1; i >= 0 && status == 0; i--)
            status = issue(execution, &kernel_gemv_t, 0, (struct operands){.a = tiles_at(l, k, i), .b = xk, .c = tiles_at(x, i, 0), .scale = -1.0});
    }
    return status;
}

/* x += N^-1 A^T (b - A x). */
static int32_t correct(struct execution *execution, const struct tile_system *system) {
    const struct tiles *a = &system->matrix, *r = &system->rhs, *d = &system->correction, *x = &system->solution;
    int32_t status = 0;
    for (int row = 0; row < a->down && status == 0; row++)
        for (int j = 0; j < a->across && status == 0; j++)
            status = issue(execution, &kernel_gemv, 0,
                           (struct operands){.a = tiles_at(a, row, j), .b = tiles_at(x, j, 0), .c = tiles_at(r, row, 0), .scale = -1.0});
    for (int row = 0; row < a->down && status == 0; row++)
        for (int j = 0; j < a->across && status == 0; j++)
            status = issue(execution, &kernel_gemv_t, 0,
                           (struct operands){.a = tiles_at(a, row, j), .b = tiles_at(r, row, 0), .c = tiles_at(d, j, 0), .scale = 1.0});
    if (status == 0)
        status = substitute(execution, &system->factor, d);
    for (int j = 0; j < x->down && status == 0; j++)
        status = issue(execution, &kernel_axpy, 0,
                       (struct operands){.a = tiles_at(d, j, 0), .c = tiles_at(x, j, 0), .scale = 1.0});
    return status;
}

int32_t tile_system_solve(struct tile_system *system, struct execution *execution) {
    int32_t status = 0;
    if (system->least_squares)
        status = form_normal_equations(execution, &system->matrix, &system->rhs, &system->factor, &system->solution);
    if (status == 0)
        status = execution->device != NULL ? factorise_there(execution, &system->factor)
                                           : factorise(execution, &system->factor);
    if (status == 0)
        status = substitute(execution, &system->factor, &system->solution);
    if (status == 0 && system->least_squares)
        status = correct(execution, system);
    return status;
}
