/* Work on two devices: copies between them, kernels on both, waits across them (M3); and how a device is named (N3).
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/device.h"

#define COUNT 256
#define ROUNDS 40

int main(void) {
    norn_device_config config = NORN_DEVICE_CONFIG_INIT;
    config.select = NORN_DEVICE_ORDINAL;
    device d[2];
    norn_kernel mix[2];
    norn_data x[2], y[2];
    uint64_t *memory;
    d[0] = device_open_with(&config);
    d[1] = d[0];
    config.ordinal = 1;
    norn_status second = norn_device_open(d[1].rt, &config, &d[1].place);
    if (second == NORN_E_INVALID) {
        printf("skipped: %s\n", norn_last_error());
        CHECK_OK(norn_close(d[0].rt));
        return SKIPPED;
    }
    CHECK_OK(second);

    /* The same device again, by its UUID, and by a local rank beyond the visible ones. */
    norn_device_info info = NORN_DEVICE_INFO_INIT;
    norn_place again;
    CHECK_OK(norn_device_get(d[1].rt, d[1].place, &info));
    norn_device_config named = NORN_DEVICE_CONFIG_INIT;
    named.select = NORN_DEVICE_UUID;
    named.uuid = info.uuid;
    CHECK_OK(norn_device_open(d[0].rt, &named, &again));
    CHECK(again.kind == NORN_PLACE_DEVICE && again.index == d[1].place.index);
    named.uuid = "GPU-00000000-0000-0000-0000-000000000000";
    CHECK_STATUS(norn_device_open(d[0].rt, &named, &again), NORN_E_INVALID);
    config.ordinal = 1000;
    CHECK_STATUS(norn_device_open(d[0].rt, &config, &again), NORN_E_INVALID);
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", "8000", 1);
    named.select = NORN_DEVICE_LOCAL_RANK;
    CHECK_OK(norn_device_open(d[0].rt, &named, &again));
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", "many", 1);
    CHECK_STATUS(norn_device_open(d[0].rt, &named, &again), NORN_E_INVALID);

    for (int i = 0; i < 2; i++) {
        device_load_kernels(&d[i]);
        mix[i] = device_kernel(&d[i], "mix_u64");
        x[i] = device_alloc(&d[i], COUNT * 8);
        y[i] = device_alloc(&d[i], COUNT * 8);
    }
    norn_data host = device_pinned(&d[0], COUNT * 8, &memory);
    for (uint64_t i = 0; i < COUNT; i++) memory[i] = i;
    device_copy(&d[0], host, x[0], COUNT);
    /* Round the two devices: each step waits for the other device's. */
    for (uint64_t r = 0; r < ROUNDS; r++) {
        device_mix(&d[0], mix[0], x[0], COUNT, r);
        device_copy(&d[0], x[0], x[1], COUNT);
        device_mix(&d[1], mix[1], x[1], COUNT, r + 100);
        device_copy(&d[1], x[1], y[1], COUNT);
        device_copy(&d[1], y[1], x[0], COUNT);
    }
    CHECK_OK(norn_await(d[0].rt, device_copy(&d[0], x[0], host, COUNT), FOREVER));
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t expected = i;
        for (uint64_t r = 0; r < ROUNDS; r++) expected = mixed(mixed(expected, i, r), i, r + 100);
        CHECK(memory[i] == expected);
    }
    /* Rows from one device to rows of the other, and back to the host. */
    enum { ROWS = 16, ROW = COUNT / ROWS };
    uint64_t result[COUNT], zero = 0;
    norn_slice rows = norn_slice_of(x[0], NORN_U64, 5), into = norn_slice_of(y[1], NORN_U64, 5);
    norn_slice all = norn_slice_of(y[1], NORN_U64, COUNT), back = norn_slice_at(result, NORN_U64, COUNT);
    norn_token down;
    for (uint64_t i = 0; i < COUNT; i++) memory[i] = i;
    device_copy(&d[0], host, x[0], COUNT);
    CHECK_OK(norn_fill(d[0].rt, &all, &zero, NULL, NULL));
    rows.blocks = into.blocks = ROWS;
    rows.stride = into.stride = ROW;
    rows.offset = 2;
    into.offset = 7;
    CHECK_OK(norn_copy(d[0].rt, &rows, &into, NULL, NULL));
    CHECK_OK(norn_copy(d[0].rt, &all, &back, NULL, &down));
    CHECK_OK(norn_await(d[0].rt, down, FOREVER));
    for (uint64_t i = 0; i < COUNT; i++) CHECK(result[i] == (i % ROW >= 7 && i % ROW < 12 ? i - 5 : 0));

    /* A kernel belongs to its device. */
    norn_launch_desc launch = NORN_LAUNCH_INIT;
    norn_task how = NORN_TASK_INIT;
    launch.kernel = mix[0];
    how.place = d[1].place;
    CHECK_STATUS(norn_launch(d[0].rt, &launch, &how, NULL), NORN_E_INVALID);
    CHECK_OK(norn_close(d[0].rt));
    return 0;
}
