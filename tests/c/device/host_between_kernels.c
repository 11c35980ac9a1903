/* Kernels and host tasks follow each other, many times over, on several chains at once (L1).
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/device.h"

#define CHAINS 4
#define COUNT 64

static uint64_t steps;
static uint64_t *pinned[CHAINS];

static int32_t on_host(norn_self *self, void *arg) {
    (void)self;
    uint64_t *memory = arg;
    for (uint64_t i = 0; i < COUNT; i++) memory[i] += 1;
    return 0;
}

int main(void) {
    device d = device_open();
    norn_kernel mix = device_kernel(&d, "mix_u64");
    norn_data host[CHAINS], x[CHAINS];
    norn_token last[CHAINS];
    steps = getenv("NORN_SOAK") != NULL ? 10000 : 100;
    for (int c = 0; c < CHAINS; c++) {
        host[c] = device_pinned(&d, COUNT * 8, &pinned[c]);
        x[c] = device_alloc(&d, COUNT * 8);
        for (uint64_t i = 0; i < COUNT; i++) pinned[c][i] = i + (uint64_t)c;
    }
    for (uint64_t s = 0; s < steps; s++) {
        for (int c = 0; c < CHAINS; c++) {
            norn_access access = norn_update(host[c]);
            norn_task task = NORN_TASK_INIT;
            task.run = on_host;
            task.arg = pinned[c];
            task.accesses = &access;
            task.access_count = 1;
            device_copy(&d, host[c], x[c], COUNT);
            device_mix(&d, mix, x[c], COUNT, s);
            device_copy(&d, x[c], host[c], COUNT);
            CHECK_OK(norn_submit(d.rt, &task, &last[c]));
        }
    }
    CHECK_OK(norn_await_all(d.rt, last, CHAINS, FOREVER));
    for (int c = 0; c < CHAINS; c++)
        for (uint64_t i = 0; i < COUNT; i++) {
            uint64_t expected = i + (uint64_t)c;
            for (uint64_t s = 0; s < steps; s++) expected = mixed(expected, i, s) + 1;
            CHECK(pinned[c][i] == expected);
        }
    CHECK_OK(norn_close(d.rt));
    return 0;
}
