/* The steps of the solution on one rank. All loops are over the tiles of this rank: `row` and `col` go in strides of the
 * grid of ranks. `me` is this rank. */
#include "distributed_solver.h"

#include "tile_device.h"

#include <stddef.h>

/* What every step needs. */
struct rank_view {
    struct distributed_system *system;
    struct part *part;
    const struct distribution *d;
    int me;
    int32_t status; /* of the first call that failed; nothing is declared afterwards */
};

static void run(struct rank_view *view, const struct kernel *kernel, int32_t priority, struct operands operands) {
    if (view->status == NORN_OK)
        view->status = issue(&view->part->execution, kernel, priority, operands);
}

/* A message, unless the other end is this rank. */
static void send_to(struct rank_view *view, const struct tiles *tiles, const struct tile *tile, int peer, int32_t priority) {
    if (peer != view->me && view->status == NORN_OK)
        view->status = send_tile(&view->part->execution, &view->part->traffic, tiles, tile, peer, priority);
}

static void receive_from(struct rank_view *view, const struct tiles *tiles, const struct tile *tile, int peer,
                         int32_t priority) {
    if (peer != view->me && view->status == NORN_OK)
        view->status = receive_tile(&view->part->execution, &view->part->traffic, tiles, tile, peer, priority);
}

/*
 * Copies of matrix tiles.
 *
 * Tile `i` of a column takes part in the updates of the factor's tiles (i, j), j from `low` to i, and (r, i), r from
 * i + 1 on: those of row i up to the diagonal and those of column i below it. Their owners are in one row and one column of
 * the grid of ranks, and repeat: the last `across` of the former and the first `down - 1` of the latter are all different
 * ranks, and all there are.
 */
static void send_copies(struct rank_view *view, const struct tiles *tiles, const struct tile *tile, int i, int low,
                        int32_t priority) {
    const struct distribution *d = view->d;
    int n = view->system->factor.down;
    for (int j = i - d->across + 1 > low ? i - d->across + 1 : low; j <= i; j++)
        send_to(view, tiles, tile, distribution_owner(d, i, j), priority);
    for (int r = i + 1; r < n && r < i + d->down; r++)
        send_to(view, tiles, tile, distribution_owner(d, r, i), priority);
}

static int needs_copy(const struct rank_view *view, int i, int low) {
    const struct distribution *d = view->d;
    return (i % d->down == d->row && distribution_col_from(d, low) <= i) ||
           (i % d->across == d->col && distribution_row_from(d, i + 1) < view->system->factor.down);
}

/* Receives a copy of tile `i` in the room of this step, which the tile borrows. */
static void receive_copy(struct rank_view *view, const struct tiles *tiles, struct tile *tile, int i, int step,
                         int owner, int32_t priority) {
    tile_borrow(tile, tiles_at(&view->system->copies, i, step % AHEAD));
    receive_from(view, tiles, tile, owner, priority);
}

/* Steps of least squares. */

/* c += A(row, j)^T b(row). Part j travels down column j, and then home. */
static void multiply_transposed(struct rank_view *view, const struct tiles *b, const struct tiles *c, int row, int j) {
    const struct tiles *a = &view->system->matrix;
    struct tile *cj = tiles_at(c, j, 0);
    if (row > 0)
        receive_from(view, c, cj, distribution_owner(view->d, row - 1, j), 0);
    run(view, &kernel_gemv_t, 0, (struct operands){.a = tiles_at(a, row, j), .b = tiles_at(b, row, 0), .c = cj, .scale = 1.0});
    if (row + 1 < a->down)
        send_to(view, c, cj, distribution_owner(view->d, row + 1, j), 0);
    else
        send_to(view, c, cj, distribution_owner(view->d, j, j), 0);
}

/* Part j that has travelled down column j comes home. */
static void receive_at_home(struct rank_view *view, const struct tiles *c) {
    int last = view->system->matrix.down - 1;
    for (int j = distribution_col_from(view->d, 0); j < c->down; j += view->d->across)
        if (distribution_is_mine(view->d, j, j))
            receive_from(view, c, tiles_at(c, j, 0), distribution_owner(view->d, last, j), 0);
}

/* Part `row` of the right-hand side goes from the owner of tile (row, from) to all that have tiles of that row. */
static void share_rhs(struct rank_view *view, int row, int from) {
    const struct tiles *r = &view->system->rhs;
    struct tile *part = tiles_at(r, row, 0);
    int owner = distribution_owner(view->d, row, from), across = view->system->matrix.across;
    if (owner != view->me)
        receive_from(view, r, part, owner, 0);
    else
        for (int j = 0; j < across && j < view->d->across; j++)
            send_to(view, r, part, distribution_owner(view->d, row, j), 0);
}

/* Row `row` of tiles of A goes to all that need it. */
static void share_row(struct rank_view *view, int row) {
    const struct tiles *a = &view->system->matrix;
    for (int c = 0; c < a->across; c++) {
        struct tile *tile = tiles_at(a, row, c);
        int owner = distribution_owner(view->d, row, c);
        int32_t priority = urgency(&view->system->factor, 0, URGENCY_SYRK);
        if (owner == view->me)
            send_copies(view, a, tile, c, 0, priority);
        else if (needs_copy(view, c, 0))
            receive_copy(view, a, tile, c, row, owner, priority);
    }
}

/* N = A^T A (lower tiles) and c = A^T b. */
static void form_normal_equations(struct rank_view *view) {
    const struct distribution *d = view->d;
    const struct tiles *a = &view->system->matrix, *n = &view->system->factor;
    for (int row = 0; row < a->down && view->status == NORN_OK; row++) {
        share_row(view, row);
        for (int j = distribution_col_from(d, 0); j < n->across; j += d->across) {
            struct tile *aj = tiles_at(a, row, j);
            if (distribution_is_mine(d, j, j))
                run(view, &kernel_syrk_t, urgency(n, j, URGENCY_SYRK), (struct operands){.a = aj, .c = tiles_at(n, j, j)});
            for (int i = distribution_row_from(d, j + 1); i < n->down; i += d->down)
                run(view, &kernel_gemm_t, urgency(n, j, URGENCY_GEMM),
                    (struct operands){.a = tiles_at(a, row, i), .b = aj, .c = tiles_at(n, i, j)});
        }
        if (row % d->down != d->row || d->col >= a->across)
            continue;
        share_rhs(view, row, 0);
        for (int j = d->col; j < a->across; j += d->across)
            multiply_transposed(view, &view->system->rhs, &view->system->solution, row, j);
    }
    receive_at_home(view, &view->system->solution);
}

/* Column k of tiles, factorised, goes to all that need it. */
static void factorise_column(struct rank_view *view, int k) {
    const struct tiles *l = &view->system->factor;
    struct tile *pivot = tiles_at(l, k, k);
    for (int i = k; i < l->down; i++) {
        struct tile *tile = tiles_at(l, i, k);
        int owner = distribution_owner(view->d, i, k);
        int32_t priority = urgency(l, k, i == k ? URGENCY_POTRF : URGENCY_TRSM);
        if (owner == view->me) {
            if (i == k)
                run(view, &kernel_potrf, priority, (struct operands){.c = tile});
            else
                run(view, &kernel_trsm, priority, (struct operands){.a = pivot, .c = tile});
            send_copies(view, l, tile, i, k + 1, priority);
        } else if (needs_copy(view, i, k + 1)) {
            receive_copy(view, l, tile, i, k, owner, priority);
        }
    }
}

/* L L^T = N in place, right-looking. */
static void factorise(struct rank_view *view) {
    const struct distribution *d = view->d;
    const struct tiles *l = &view->system->factor;
    for (int k = 0; k < l->across && view->status == NORN_OK; k++) {
        factorise_column(view, k);
        for (int j = distribution_col_from(d, k + 1); j < l->across; j += d->across) {
            struct tile *lj = tiles_at(l, j, k);
            if (distribution_is_mine(d, j, j))
                run(view, &kernel_syrk, urgency(l, j, URGENCY_SYRK), (struct operands){.a = lj, .c = tiles_at(l, j, j)});
            for (int i = distribution_row_from(d, j + 1); i < l->down; i += d->down)
                run(view, &kernel_gemm, urgency(l, j, URGENCY_GEMM),
                    (struct operands){.a = tiles_at(l, i, k), .b = lj, .c = tiles_at(l, i, j)});
        }
    }
}

/* The same on the device of this rank, if it has one: its tiles go there, and what it factorised comes back. */
static void factorise_somewhere(struct rank_view *view) {
    struct execution *execution = &view->part->execution;
    struct tile_device *device = execution->device;
    const struct tiles *l = &view->system->factor;
    if (device == NULL) {
        factorise(view);
        return;
    }
    if (view->status == NORN_OK)
        view->status = tile_device_upload(device, execution->rt, l, execution->group);
    execution->on_device = 1;
    factorise(view);
    execution->on_device = 0;
    if (view->status == NORN_OK)
        view->status = tile_device_download(device, execution->rt, l, execution->group);
    for (int k = 0; k < l->across; k++)
        if (distribution_is_mine(view->d, k, k))
            run(view, &kernel_verdict, 0, (struct operands){.c = tiles_at(l, k, k)});
}

/* x = L^-1 x. Part i travels along row i to the diagonal, which is its home, and from there down column i as a copy. */
static void substitute_forward(struct rank_view *view, const struct tiles *x) {
    const struct distribution *d = view->d;
    const struct tiles *l = &view->system->factor;
    for (int i = distribution_row_from(d, 0); i < l->down; i += d->down)
        if (distribution_is_mine(d, i, i))
            send_to(view, x, tiles_at(x, i, 0), distribution_owner(d, i, 0), 0);
    for (int k = distribution_col_from(d, 0); k < l->across && view->status == NORN_OK; k += d->across) {
        struct tile *xk = tiles_at(x, k, 0);
        if (distribution_is_mine(d, k, k)) {
            receive_from(view, x, xk, distribution_owner(d, k, k > 0 ? k - 1 : 0), 0);
            run(view, &kernel_trsv, 0, (struct operands){.a = tiles_at(l, k, k), .c = xk});
            for (int i = k + 1; i < l->down && i < k + d->down; i++)
                send_to(view, x, xk, distribution_owner(d, i, k), 0);
        } else if (distribution_row_from(d, k + 1) < l->down) {
            receive_from(view, x, xk, distribution_owner(d, k, k), 0);
        }
        for (int i = distribution_row_from(d, k + 1); i < l->down; i += d->down) {
            struct tile *xi = tiles_at(x, i, 0);
            receive_from(view, x, xi, k > 0 ? distribution_owner(d, i, k - 1) : distribution_owner(d, i, i), 0);
            run(view, &kernel_gemv, 0, (struct operands){.a = tiles_at(l, i, k), .b = xk, .c = xi, .scale = -1.0});
            send_to(view, x, xi, distribution_owner(d, i, k + 1), 0);
        }
    }
}

/* x = L^-T x, from the last part to the first. Part i travels up column i to its home, and from there along row i as a
 * copy. */
static void substitute_backward(struct rank_view *view, const struct tiles *x) {
    const struct distribution *d = view->d;
    const struct tiles *l = &view->system->factor;
    int last = l->down - 1;
    for (int i = distribution_col_until(d, last); i >= 0; i -= d->across)
        if (distribution_is_mine(d, i, i))
            send_to(view, x, tiles_at(x, i, 0), distribution_owner(d, last, i), 0);
    for (int k = last; k >= 0 && view->status == NORN_OK; k--) {
        if (k % d->down != d->row)
            continue;
        struct tile *xk = tiles_at(x, k, 0);
        if (distribution_is_mine(d, k, k)) {
            receive_from(view, x, xk, distribution_owner(d, k < last ? k + 1 : last, k), 0);
            run(view, &kernel_trsv_t, 0, (struct operands){.a = tiles_at(l, k, k), .c = xk});
            for (int i = k - 1; i >= 0 && i > k - d->across; i--)
                send_to(view, x, xk, distribution_owner(d, k, i), 0);
        } else if (d->col < k) {
            receive_from(view, x, xk, distribution_owner(d, k, k), 0);
        }
        for (int i = distribution_col_until(d, k - 1); i >= 0; i -= d->across) {
            struct tile *xi = tiles_at(x, i, 0);
            receive_from(view, x, xi, k < last ? distribution_owner(d, k + 1, i) : distribution_owner(d, i, i), 0);
            run(view, &kernel_gemv_t, 0, (struct operands){.a = tiles_at(l, k, i), .b = xk, .c = xi, .scale = -1.0});
            send_to(view, x, xi, distribution_owner(d, k - 1, i), 0);
        }
    }
}

/* The parts of x go from home down the columns of A. */
static void share_answer(struct rank_view *view) {
    const struct distribution *d = view->d;
    const struct tiles *x = &view->system->solution;
    int down = view->system->matrix.down;
    for (int j = distribution_col_from(d, 0); j < x->down; j += d->across) {
        struct tile *xj = tiles_at(x, j, 0);
        if (!distribution_is_mine(d, j, j) && d->row < down)
            receive_from(view, x, xj, distribution_owner(d, j, j), 0);
        else if (distribution_is_mine(d, j, j))
            for (int row = 0; row < down && row < d->down; row++)
                send_to(view, x, xj, distribution_owner(d, row, j), 0);
    }
}

/* r = b - A x. Part `row` travels along row `row`, and then goes to all of that row. */
static void form_residual(struct rank_view *view) {
    const struct distribution *d = view->d;
    const struct tiles *a = &view->system->matrix, *r = &view->system->rhs, *x = &view->system->solution;
    for (int row = d->row; row < a->down && view->status == NORN_OK; row += d->down) {
        struct tile *part = tiles_at(r, row, 0);
        for (int j = d->col; j < a->across; j += d->across) {
            if (j > 0)
                receive_from(view, r, part, distribution_owner(d, row, j - 1), 0);
            run(view, &kernel_gemv, 0, (struct operands){.a = tiles_at(a, row, j), .b = tiles_at(x, j, 0), .c = part, .scale = -1.0});
            if (j + 1 < a->across)
                send_to(view, r, part, distribution_owner(d, row, j + 1), 0);
        }
        if (d->col < a->across)
            share_rhs(view, row, a->across - 1);
    }
}

/* x += N^-1 A^T (b - A x). */
static void correct(struct rank_view *view) {
    const struct distribution *d = view->d;
    struct distributed_system *system = view->system;
    const struct tiles *a = &system->matrix, *x = &system->solution;
    share_answer(view);
    form_residual(view);
    for (int row = d->row; row < a->down; row += d->down)
        for (int j = d->col; j < a->across; j += d->across)
            multiply_transposed(view, &system->rhs, &system->correction, row, j);
    receive_at_home(view, &system->correction);
    substitute_forward(view, &system->correction);
    substitute_backward(view, &system->correction);
    for (int j = distribution_col_from(d, 0); j < x->down; j += d->across)
        if (distribution_is_mine(d, j, j))
            run(view, &kernel_axpy, 0,
                (struct operands){.a = tiles_at(&system->correction, j, 0), .c = tiles_at(x, j, 0), .scale = 1.0});
}

int32_t distributed_system_solve(struct distributed_system *system, struct part *part) {
    struct rank_view view = {
        .system = system, .part = part, .d = &system->share, .me = distribution_rank(&system->share), .status = NORN_OK};
    if (system->least_squares)
        form_normal_equations(&view);
    factorise_somewhere(&view);
    substitute_forward(&view, &system->solution);
    substitute_backward(&view, &system->solution);
    if (system->least_squares)
        correct(&view);
    return view.status;
}
