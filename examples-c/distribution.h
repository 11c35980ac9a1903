/* Which rank owns which tile: block-cyclic over a grid of ranks. Plain arithmetic, so that every rank knows it of every
 * tile without asking. */
#ifndef DISTRIBUTION_H
#define DISTRIBUTION_H

struct distribution {
    int down, across; /* the grid of ranks */
    int row, col;     /* this rank's place in it */
};

/* The grid of `size` ranks that is nearest to a square, no higher than wide, and the place of `rank` in it, row by row. */
struct distribution distribution_of(int rank, int size);

static inline int distribution_owner(const struct distribution *d, int row, int col) {
    return row % d->down * d->across + col % d->across;
}

static inline int distribution_rank(const struct distribution *d) {
    return d->row * d->across + d->col;
}

static inline int distribution_is_mine(const struct distribution *d, int row, int col) {
    return row % d->down == d->row && col % d->across == d->col;
}

/* The first row, or column, of tiles at or after `low` that this rank has a part in. */
int distribution_row_from(const struct distribution *d, int low);
int distribution_col_from(const struct distribution *d, int low);

/* The last one at or before `high`; may be negative: there is none. */
int distribution_col_until(const struct distribution *d, int high);

#endif
