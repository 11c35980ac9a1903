/* The tiles of one rank, and the messages that bring numbers in and out. */
#include "distributed_solver.h"

#include <stddef.h>

int distributed_system_create(struct distributed_system *system, int rows, int cols, int tile,
                              const struct distribution *share) {
    *system = (struct distributed_system){.share = *share, .least_squares = rows != cols};
    if (tiles_create_share(&system->factor, cols, cols, tile, TILES_LOWER, share) != 0 ||
        tiles_create(&system->solution, cols, 1, tile, TILES_FULL) != 0)
        return -1;
    if (system->least_squares && (tiles_create_share(&system->matrix, rows, cols, tile, TILES_FULL, share) != 0 ||
                                  tiles_create(&system->rhs, rows, 1, tile, TILES_FULL) != 0 ||
                                  tiles_create(&system->correction, cols, 1, tile, TILES_FULL) != 0))
        return -1;
    if (tiles_create_share(&system->copies, system->factor.down * tile, AHEAD * tile, tile, TILES_CROSS, share) != 0)
        return -1;

    struct tiles *sent[] = {&system->factor, &system->solution, &system->matrix, &system->rhs, &system->correction};
    int64_t key = 0;
    for (size_t i = 0; i < sizeof sent / sizeof sent[0]; i++) {
        sent[i]->first_key = key;
        key += (int64_t)sent[i]->down * sent[i]->across;
    }
    return 0;
}

void distributed_system_free(struct distributed_system *system) {
    tiles_free(&system->factor);
    tiles_free(&system->solution);
    tiles_free(&system->matrix);
    tiles_free(&system->rhs);
    tiles_free(&system->correction);
    tiles_free(&system->copies);
}

norn_status distributed_system_register(struct distributed_system *system, norn_runtime *rt) {
    norn_status status = NORN_OK;
    if (system->least_squares) {
        tiles_clear(&system->factor);
        tiles_clear(&system->solution);
        tiles_clear(&system->correction);
        status = tiles_register(&system->matrix, rt, "matrix");
        if (status == NORN_OK)
            status = tiles_register(&system->rhs, rt, "right-hand side");
        if (status == NORN_OK)
            status = tiles_register(&system->correction, rt, "correction");
    }
    if (status == NORN_OK)
        status = tiles_register(&system->factor, rt, "factor");
    if (status == NORN_OK)
        status = tiles_register(&system->solution, rt, "solution");
    if (status == NORN_OK)
        status = tiles_register(&system->copies, rt, "copy");
    if (status != NORN_OK)
        distributed_system_unregister(system, rt);
    return status;
}

norn_status distributed_system_unregister(struct distributed_system *system, norn_runtime *rt) {
    struct tiles *all[] = {&system->factor, &system->solution,   &system->matrix,
                           &system->rhs,    &system->correction, &system->copies};
    norn_status first = NORN_OK;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        norn_status status = tiles_unregister(all[i], rt);
        if (first == NORN_OK)
            first = status;
    }
    return first;
}

/* Where a tile is between two steps. */
static int home(const struct distributed_system *system, const struct tiles *tiles, const struct tile *tile) {
    if (tiles == &system->solution || tiles == &system->correction)
        return distribution_owner(&system->share, tile->row, tile->row);
    return distribution_owner(&system->share, tile->row, tile->col);
}

/* The place of a tile in the dense matrix, or vector, that it is cut out of. */
static norn_slice dense_slice(const struct tiles *tiles, const struct tile *tile, const double *dense) {
    norn_slice slice = norn_slice_at((double *)dense, NORN_F64, (uint64_t)tile->rows);
    slice.offset = (uint64_t)tile->first_col * (uint64_t)tiles->rows + (uint64_t)tile->first_row;
    slice.blocks = (uint64_t)tile->cols;
    slice.stride = (uint64_t)tiles->rows;
    return slice;
}

/* Calls `move` for every tile that there is, column by column: for each pair of ranks the same order on both. */
typedef int32_t (*move_fn)(const struct distributed_system *system, struct part *part, const struct tiles *tiles,
                           const struct tile *tile, void *arg);

static int32_t for_each_tile(const struct distributed_system *system, struct part *part, const struct tiles *tiles,
                             move_fn move, void *arg) {
    int32_t status = NORN_OK;
    for (int col = 0; col < tiles->across; col++)
        for (int row = tiles->shape == TILES_LOWER ? col : 0; row < tiles->down && status == NORN_OK; row++)
            status = move(system, part, tiles, tiles_at(tiles, row, col), arg);
    return status;
}

static int32_t load_tile(const struct distributed_system *system, struct part *part, const struct tiles *tiles,
                         const struct tile *tile, void *dense) {
    int owner = home(system, tiles, tile), me = distribution_rank(&system->share);
    norn_task how = NORN_TASK_INIT;
    how.name = "load";
    how.group = part->execution.group;
    int32_t status = NORN_OK;
    if (me == 0) {
        norn_slice from = dense_slice(tiles, tile, dense);
        status = norn_send(part->traffic.world, &from, owner, tile_key(&part->traffic, tiles, tile), &how, NULL);
    }
    if (me == owner && status == NORN_OK)
        status = receive_tile(&part->execution, &part->traffic, tiles, tile, 0, 0);
    return status;
}

int32_t distributed_system_load(struct distributed_system *system, struct part *part, const double *matrix,
                                const double *rhs) {
    const struct tiles *a = system->least_squares ? &system->matrix : &system->factor;
    const struct tiles *b = system->least_squares ? &system->rhs : &system->solution;
    int32_t status = for_each_tile(system, part, a, load_tile, (void *)matrix);
    return status == NORN_OK ? for_each_tile(system, part, b, load_tile, (void *)rhs) : status;
}

/* To rank 0, which receives into `memory`. */
static int32_t collect_tile(const struct distributed_system *system, struct part *part, const struct tiles *tiles,
                            const struct tile *tile, const norn_slice *memory) {
    int owner = home(system, tiles, tile), me = distribution_rank(&system->share);
    norn_task how = NORN_TASK_INIT;
    how.name = "collect";
    how.group = part->execution.group;
    int32_t status = NORN_OK;
    if (me == owner)
        status = send_tile(&part->execution, &part->traffic, tiles, tile, 0, 0);
    if (me == 0 && status == NORN_OK)
        status = norn_recv(part->traffic.world, memory, owner, tile_key(&part->traffic, tiles, tile), &how, NULL);
    return status;
}

static int32_t collect_factor(const struct distributed_system *system, struct part *part, const struct tiles *tiles,
                              const struct tile *tile, void *all) {
    norn_slice memory = NORN_SLICE_INIT;
    if (all != NULL) {
        const struct tile *to = tiles_at((const struct tiles *)all, tile->row, tile->col);
        memory = norn_slice_at(to->values, NORN_F64, tile_values(to));
    }
    return collect_tile(system, part, tiles, tile, &memory);
}

static int32_t collect_answer(const struct distributed_system *system, struct part *part, const struct tiles *tiles,
                              const struct tile *tile, void *x) {
    norn_slice memory = dense_slice(tiles, tile, x);
    return collect_tile(system, part, tiles, tile, &memory);
}

int32_t distributed_system_collect(struct distributed_system *system, struct part *part, const struct tiles *factor,
                                   double *x) {
    int32_t status = for_each_tile(system, part, &system->factor, collect_factor, (void *)factor);
    return status == NORN_OK ? for_each_tile(system, part, &system->solution, collect_answer, x) : status;
}

uint64_t distributed_system_tile_count(const struct distributed_system *system) {
    const struct tiles *l = &system->factor;
    uint64_t count = 0;
    for (int col = 0; col < l->across; col++)
        for (int row = col; row < l->down; row++)
            count += (uint64_t)distribution_is_mine(&system->share, row, col);
    return count;
}
