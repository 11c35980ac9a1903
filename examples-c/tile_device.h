/*
 * The factorisation on a device: copies of the factor's tiles there, and the kernels as calls of cuBLAS and cuSOLVER that
 * queue on the streams that norn gives them. Both libraries are found at run time, so that one program serves machines
 * with and without them.
 */
#ifndef TILE_DEVICE_H
#define TILE_DEVICE_H

#include "tile_kernels.h"

enum { DEVICE_WHY_BYTES = 320 };

struct tile_device {
    norn_place place;
    char name[128];
    norn_data work; /* of potrf, all of whose calls follow each other */
    void *work_values;
    int work_count;
    norn_data verdicts, verdicts_here; /* one whole number for each call of potrf: there, and copied here */
    void *verdict_values;
    int *here;
    double copy_seconds, factor_seconds; /* of the last run */
    double factor_flops;
};

/* Opens the device that is this process's share of the machine, and finds the libraries. Returns 0, or -1 and one line in
 * `why`: then nothing is to be closed. */
int tile_device_open(struct tile_device *device, norn_runtime *rt, char why[DEVICE_WHY_BYTES]);

/* Gives every tile with memory of its own a copy on the device, not filled; tile_device_register also takes what the
 * kernels need to factorise these tiles. On an error none has one. */
norn_status tile_device_register(struct tile_device *device, norn_runtime *rt, struct tiles *tiles);
norn_status tile_device_add(const struct tile_device *device, norn_runtime *rt, struct tiles *tiles);

/* Takes all that back. Return the first error; go on to the end all the same. */
norn_status tile_device_unregister(struct tile_device *device, norn_runtime *rt, struct tiles *tiles);
norn_status tile_device_remove(norn_runtime *rt, struct tiles *tiles);

/* Copies the tiles with memory of their own to the device, or them and the verdicts back. */
norn_status tile_device_upload(struct tile_device *device, norn_runtime *rt, const struct tiles *tiles, norn_group group);
norn_status tile_device_download(struct tile_device *device, norn_runtime *rt, const struct tiles *tiles, norn_group group);

#endif
