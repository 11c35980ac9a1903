/* Two pinned blocks go round between two devices: never handed on while one still reads them, and never more than the ceiling
 * allows (P3).
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/standin.h"

enum { BLOCKS = 2, ROUNDS = 24 };

static uint64_t count;

typedef struct block {
    uint64_t *memory;
    uint64_t key;
} block;

static int32_t put(norn_self *self, void *arg) {
    const block *b = arg;
    (void)self;
    for (uint64_t i = 0; i < count; i++) b->memory[i] = b->key + i;
    return 0;
}
static int32_t check_back(norn_self *self, void *arg) {
    const block *b = arg;
    (void)self;
    for (uint64_t i = 0; i < count; i++)
        if (b->memory[i] != mixed(b->key + i, i, b->key)) return norn_self_fail(self, 1, "another block's numbers");
    return 0;
}

static void host_step(const device *d, norn_task_fn run, const block *b, norn_access access) {
    norn_task task = NORN_TASK_INIT;
    block copied = *b;
    task.run = run;
    task.arg = &copied;
    task.arg_bytes = sizeof copied;
    task.flags = NORN_COPY_ARG;
    task.accesses = &access;
    task.access_count = 1;
    CHECK_OK(norn_submit(d->rt, &task, NULL));
}

int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    norn_device_config which = NORN_DEVICE_CONFIG_INIT;
    device d[2];
    norn_kernel mix[2];
    norn_data x[2], pinned[BLOCKS];
    block blocks[BLOCKS];
    count = getenv("NORN_SOAK") != NULL ? 8 << 20 : 1 << 14; /* 64 MiB, or 128 KiB */
    config.max_pinned_bytes = BLOCKS * count * 8;
    memset(d, 0, sizeof d);
    CHECK_OK(norn_open(&config, &d[0].rt));
    d[1].rt = d[0].rt;
    which.select = NORN_DEVICE_ORDINAL;
    for (int i = 0; i < 2; i++) {
        which.ordinal = i;
        norn_status status = norn_device_open(d[i].rt, &which, &d[i].place);
        if (status == NORN_E_UNSUPPORTED || (i == 1 && status == NORN_E_INVALID)) {
            printf("skipped: %s\n", norn_last_error());
            CHECK_OK(norn_close(d[0].rt));
            return SKIPPED;
        }
        CHECK_OK(status);
        device_load_kernels(&d[i]);
        mix[i] = device_kernel(&d[i], "mix_u64");
        x[i] = device_alloc(&d[i], count * 8);
    }
    for (int b = 0; b < BLOCKS; b++) pinned[b] = device_pinned(&d[0], count * 8, &blocks[b].memory);
    norn_data_desc more = NORN_DATA_DESC_INIT;
    norn_data none;
    more.bytes = 8;
    more.kind = NORN_MEMORY_PINNED;
    CHECK_STATUS(norn_data_alloc(d[0].rt, &more, &none), NORN_E_RESOURCE);
    CHECK(strstr(norn_last_error(), "max_pinned_bytes") != NULL);

    /* Every block goes to each of them in turn. */
    for (uint64_t round = 0; round < ROUNDS; round++) {
        int b = (int)(round % BLOCKS), to = (int)(round / BLOCKS + round) % 2;
        blocks[b].key = round * 1000;
        host_step(&d[to], put, &blocks[b], norn_write(pinned[b]));
        device_copy(&d[to], pinned[b], x[to], count);
        device_mix(&d[to], mix[to], x[to], count, blocks[b].key);
        device_copy(&d[to], x[to], pinned[b], count);
        host_step(&d[to], check_back, &blocks[b], norn_read(pinned[b]));
    }
    CHECK_OK(norn_drain(d[0].rt, FOREVER));
    CHECK_OK(norn_close(d[0].rt));
    check_nothing_left();
    return 0;
}
