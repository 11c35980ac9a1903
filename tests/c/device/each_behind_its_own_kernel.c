/* Kernels of different length on eight streams, each with a host task behind it: every task finds its own kernel done, however
 * often events have been used before (M1).
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/standin.h"

enum { KERNELS = 64, STREAMS = 8, ROUNDS = 6 };

typedef struct flag {
    const uint64_t *memory;
    uint64_t expected;
} flag;

static int32_t look(norn_self *self, void *arg) {
    const flag *f = arg;
    return *f->memory == f->expected ? 0 : norn_self_fail(self, 1, "before its kernel");
}

int main(void) {
    norn_device_config config = NORN_DEVICE_CONFIG_INIT;
    config.streams = STREAMS;
    device d = device_open_with(&config);
    device_load_kernels(&d);
    norn_kernel spin = device_kernel(&d, "spin_ns"), fill = device_kernel(&d, "fill_u64");
    norn_data host[KERNELS];
    uint64_t *memory[KERNELS], one = 1;
    for (int i = 0; i < KERNELS; i++) host[i] = device_pinned(&d, 8, &memory[i]);
    for (uint64_t round = 1; round <= ROUNDS; round++)
        for (int i = 0; i < KERNELS; i++) {
            uint64_t value = round * 1000 + (uint64_t)i;
            norn_argument arguments[3] = {norn_pointer(host[i], NORN_WRITE), norn_value(&one, 8), norn_value(&value, 8)};
            norn_access access = norn_read(host[i]);
            norn_task task = NORN_TASK_INIT;
            flag f = {memory[i], value};
            device_spin(&d, spin, (uint64_t)(i * 37 % KERNELS) * 20000, host[i], NORN_READ_WRITE);
            device_launch(&d, fill, arguments, 3, NULL);
            task.run = look;
            task.arg = &f;
            task.arg_bytes = sizeof f;
            task.flags = NORN_COPY_ARG;
            task.accesses = &access;
            task.access_count = 1;
            CHECK_OK(norn_submit(d.rt, &task, NULL));
        }
    CHECK_OK(norn_drain(d.rt, FOREVER));
    CHECK_OK(norn_close(d.rt));
    check_nothing_left();
    return 0;
}
