#include "distribution.h"

struct distribution distribution_of(int rank, int size) {
    int down = 1;
    for (int d = 2; d * d <= size; d++)
        if (size % d == 0)
            down = d;
    int across = size / down;
    return (struct distribution){.down = down, .across = across, .row = rank / across, .col = rank % across};
}

/* The least number from `low` on, low >= 0, that leaves `rest` when divided by `by`. */
static int from(int low, int rest, int by) {
    return low + (rest - low % by + by) % by;
}

int distribution_row_from(const struct distribution *d, int low) {
    return from(low, d->row, d->down);
}

int distribution_col_from(const struct distribution *d, int low) {
    return from(low, d->col, d->across);
}

int distribution_col_until(const struct distribution *d, int high) {
    return high < 0 ? -1 : from(high, d->col, d->across) - (high % d->across == d->col ? 0 : d->across);
}
