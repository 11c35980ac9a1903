#include "tiles.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static size_t tile_bytes(const struct tile *tile) {
    return (size_t)tile_values(tile) * sizeof(double);
}

static size_t aligned_bytes(const struct tile *tile) {
    return (tile_bytes(tile) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static int has_memory(const struct tiles *tiles, int row, int col) {
    const struct distribution *share = &tiles->share;
    if (tiles->shape == TILES_CROSS)
        return share->down * share->across > 1 && (row % share->down == share->row || row % share->across == share->col);
    return (tiles->shape == TILES_FULL || row >= col) && distribution_is_mine(share, row, col);
}

static int extent(int whole, int size, int index) {
    int left = whole - index * size;
    return left < size ? left : size;
}

int tiles_create(struct tiles *tiles, int rows, int cols, int size, enum tiles_shape shape) {
    const struct distribution all = distribution_of(0, 1);
    return tiles_create_share(tiles, rows, cols, size, shape, &all);
}

int tiles_create_share(struct tiles *tiles, int rows, int cols, int size, enum tiles_shape shape,
                       const struct distribution *share) {
    *tiles = (struct tiles){.rows = rows, .cols = cols, .size = size, .shape = shape, .share = *share};
    tiles->down = (rows - 1) / size + 1;
    tiles->across = (cols - 1) / size + 1;
    tiles->grid = calloc((size_t)tiles->down * (size_t)tiles->across, sizeof *tiles->grid);
    if (tiles->grid == NULL)
        return -1;

    for (int col = 0; col < tiles->across; col++) {
        for (int row = 0; row < tiles->down; row++) {
            struct tile *tile = tiles_at(tiles, row, col);
            *tile = (struct tile){.row = row, .col = col, .first_row = row * size, .first_col = col * size};
            tile->rows = extent(rows, size, row);
            tile->cols = extent(cols, size, col);
            if (has_memory(tiles, row, col))
                tiles->storage_bytes += aligned_bytes(tile);
        }
    }

    /* One block for all, with every tile beginning on a cache line that no other tile uses. */
    tiles->storage = aligned_alloc(ALIGNMENT, tiles->storage_bytes > 0 ? tiles->storage_bytes : ALIGNMENT);
    if (tiles->storage == NULL)
        return -1;
    char *next = (char *)tiles->storage;
    for (int col = 0; col < tiles->across; col++) {
        for (int row = 0; row < tiles->down; row++) {
            if (!has_memory(tiles, row, col))
                continue;
            tiles_at(tiles, row, col)->values = (double *)next;
            next += aligned_bytes(tiles_at(tiles, row, col));
        }
    }
    return 0;
}

void tiles_free(struct tiles *tiles) {
    free(tiles->grid);
    free(tiles->storage);
    *tiles = (struct tiles){0};
}

void tile_borrow(struct tile *tile, const struct tile *lender) {
    tile->values = lender->values;
    tile->data = lender->data;
    tile->on_device = lender->on_device;
    tile->device_values = lender->device_values;
    tile->borrows = 1;
}

void tiles_clear(struct tiles *tiles) {
    memset(tiles->storage, 0, tiles->storage_bytes);
}

/* Where column `col` of a tile begins in the dense matrix. */
static size_t dense_offset(const struct tiles *tiles, const struct tile *tile, int col) {
    return ((size_t)tile->first_col + (size_t)col) * (size_t)tiles->rows + (size_t)tile->first_row;
}

static double *tile_column(const struct tile *tile, int col) {
    return tile->values + (size_t)col * (size_t)tile->rows;
}

void tiles_load(struct tiles *tiles, const double *values) {
    size_t count = (size_t)tiles->down * (size_t)tiles->across;
    for (const struct tile *tile = tiles->grid; tile < tiles->grid + count; tile++)
        if (tile->values != NULL)
            for (int col = 0; col < tile->cols; col++)
                memcpy(tile_column(tile, col), values + dense_offset(tiles, tile, col),
                       (size_t)tile->rows * sizeof(double));
}

void tiles_store(const struct tiles *tiles, double *values) {
    size_t count = (size_t)tiles->down * (size_t)tiles->across;
    for (const struct tile *tile = tiles->grid; tile < tiles->grid + count; tile++)
        for (int col = 0; col < tile->cols; col++)
            memcpy(values + dense_offset(tiles, tile, col), tile_column(tile, col),
                   (size_t)tile->rows * sizeof(double));
}

norn_status tiles_register(struct tiles *tiles, norn_runtime *rt, const char *name) {
    size_t count = (size_t)tiles->down * (size_t)tiles->across;
    for (struct tile *tile = tiles->grid; tile < tiles->grid + count; tile++) {
        if (tile->values == NULL)
            continue;
        norn_data_desc desc = NORN_DATA_DESC_INIT;
        desc.ptr = tile->values;
        desc.bytes = tile_bytes(tile);
        desc.name = name;
        norn_status status = norn_data_register(rt, &desc, &tile->data);
        if (status != NORN_OK) {
            tiles_unregister(tiles, rt);
            return status;
        }
    }
    return NORN_OK;
}

norn_status tiles_unregister(struct tiles *tiles, norn_runtime *rt) {
    norn_status first = NORN_OK;
    size_t count = (size_t)tiles->down * (size_t)tiles->across;
    for (struct tile *tile = tiles->grid; tile < tiles->grid + count; tile++) {
        if (tile->borrows) {
            tile->values = NULL;
            tile->data.id = 0;
            tile->on_device.id = 0;
            tile->device_values = NULL;
            tile->borrows = 0;
        }
        if (tile->data.id == 0)
            continue;
        norn_status status = norn_data_unregister(rt, tile->data);
        tile->data.id = 0;
        if (first == NORN_OK)
            first = status;
    }
    return first;
}
