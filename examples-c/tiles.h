/* A matrix cut into tiles. Each tile is contiguous in memory and a norn datum of its own, so that norn orders the
 * tasks tile by tile. A vector is a matrix of one column. */
#ifndef TILES_H
#define TILES_H

#include "distribution.h"

#include <norn.h>

struct tile {
    double *values; /* rows x cols, by columns, 64-byte aligned */
    int rows, cols;
    int row, col;             /* which tile of the matrix */
    int first_row, first_col; /* where it begins in the matrix */
    norn_data data;
    norn_data on_device; /* its copy on a device, if it has one, and where that is */
    void *device_values;
    int borrows; /* all of these are another tile's, until tiles_unregister */
};

enum tiles_shape {
    TILES_FULL,
    TILES_LOWER, /* only the tiles on and below the diagonal have memory */
    TILES_CROSS  /* room for copies: the rows that this rank's row or column of the grid of ranks has a part in */
};

struct tiles {
    int rows, cols;   /* of the matrix */
    int down, across; /* tiles */
    int size;         /* rows and columns of a tile, except in the last row and column of tiles */
    enum tiles_shape shape;
    struct distribution share; /* the tiles that have memory in this process */
    int64_t first_key;         /* of its messages: the tile at (row, col) has the key first_key + col * down + row */
    struct tile *grid;
    double *storage;
    size_t storage_bytes;
};

/* Return 0, or -1 without memory; tiles_free is allowed in both cases. The second one has memory only for the tiles that
 * this rank owns; all know their place and size. */
int tiles_create(struct tiles *tiles, int rows, int cols, int size, enum tiles_shape shape);
int tiles_create_share(struct tiles *tiles, int rows, int cols, int size, enum tiles_shape shape,
                       const struct distribution *share);
void tiles_free(struct tiles *tiles);

static inline struct tile *tiles_at(const struct tiles *tiles, int row, int col) {
    return &tiles->grid[(size_t)col * (size_t)tiles->down + (size_t)row];
}

/* Lends the memory and the data of `lender` to a tile without its own, for one run. */
void tile_borrow(struct tile *tile, const struct tile *lender);

static inline uint64_t tile_values(const struct tile *tile) {
    return (uint64_t)tile->rows * (uint64_t)tile->cols;
}

void tiles_clear(struct tiles *tiles);
void tiles_load(struct tiles *tiles, const double *values);        /* from dense storage by columns */
void tiles_store(const struct tiles *tiles, double *values);       /* to it; TILES_FULL only */

/* Makes the tiles data of a runtime. Until they are unregistered only tasks touch the memory. On an error none is
 * registered. `name` is what reports call a tile. */
norn_status tiles_register(struct tiles *tiles, norn_runtime *rt, const char *name);

/* Waits for the last access to each. Returns the first error; goes on to the end all the same. */
norn_status tiles_unregister(struct tiles *tiles, norn_runtime *rt);

#endif
