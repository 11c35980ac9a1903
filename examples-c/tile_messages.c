#include "tile_messages.h"

#include <stddef.h>

int64_t tile_key(const struct traffic *traffic, const struct tiles *tiles, const struct tile *tile) {
    return (tiles->first_key + (int64_t)tile->col * tiles->down + tile->row) % traffic->key_limit;
}

/* Where the tile's numbers are now. */
static norn_slice slice_of(const struct execution *execution, const struct tile *tile) {
    return norn_slice_of(execution->on_device ? tile->on_device : tile->data, NORN_F64, tile_values(tile));
}

static norn_task how(const struct execution *execution, const char *name, int32_t priority) {
    norn_task task = NORN_TASK_INIT;
    task.name = name;
    task.priority = priority;
    task.group = execution->group;
    return task;
}

int32_t send_tile(const struct execution *execution, struct traffic *traffic, const struct tiles *tiles,
                  const struct tile *tile, int peer, int32_t priority) {
    norn_slice from = slice_of(execution, tile);
    norn_task task = how(execution, "send", priority);
    traffic->messages++;
    traffic->bytes += tile_values(tile) * sizeof(double);
    return norn_send(traffic->world, &from, peer, tile_key(traffic, tiles, tile), &task, NULL);
}

int32_t receive_tile(const struct execution *execution, const struct traffic *traffic, const struct tiles *tiles,
                     const struct tile *tile, int peer, int32_t priority) {
    norn_slice to = slice_of(execution, tile);
    norn_task task = how(execution, "receive", priority);
    return norn_recv(traffic->world, &to, peer, tile_key(traffic, tiles, tile), &task, NULL);
}
