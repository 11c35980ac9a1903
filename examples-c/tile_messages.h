/*
 * Tiles as messages between ranks. A message is an operation of norn like a task: a send reads its tile and a receive
 * writes it, and the tile's other readers and writers are ordered with them. Nobody waits in here. While the kernels run
 * on a device, the messages are from and to its memory: norn stages them where MPI does not take such memory.
 *
 * A message is matched by its key, which is that of its tile. Both ranks declare the messages of one tile between them in
 * the order of the sequential algorithm; so they do for all tiles, which lets tiles share keys where there are more tiles
 * than keys.
 */
#ifndef TILE_MESSAGES_H
#define TILE_MESSAGES_H

#include "tile_issue.h"

struct traffic {
    norn_world *world;
    int64_t key_limit;
    uint64_t messages, bytes; /* counted here: sent */
};

/* Return the status of norn_send or norn_recv. `tiles` is what the tile is part of. */
int32_t send_tile(const struct execution *execution, struct traffic *traffic, const struct tiles *tiles,
                  const struct tile *tile, int peer, int32_t priority);
int32_t receive_tile(const struct execution *execution, const struct traffic *traffic, const struct tiles *tiles,
                     const struct tile *tile, int peer, int32_t priority);

int64_t tile_key(const struct traffic *traffic, const struct tiles *tiles, const struct tile *tile);

#endif
