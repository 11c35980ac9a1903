/* With two streams, many operations take turns, and a kernel that waits for host work holds up nobody else's (M1, M5).
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/device.h"

#define DATA 16
#define COUNT 32

static int32_t look(norn_self *self, void *arg) {
    (void)self;
    uint64_t *memory = arg;
    return memory[0] == memory[1] ? 0 : 1; /* the copy before it is complete */
}

int main(void) {
    norn_device_config config = NORN_DEVICE_CONFIG_INIT;
    config.streams = 2;
    device d = device_open_with(&config);
    device_load_kernels(&d);
    norn_kernel fill = device_kernel(&d, "fill_u64");
    norn_data x[DATA], host[DATA];
    uint64_t *memory[DATA];
    for (int i = 0; i < DATA; i++) {
        x[i] = device_alloc(&d, COUNT * 8);
        host[i] = device_pinned(&d, COUNT * 8, &memory[i]);
    }
    for (uint64_t round = 1; round <= 20; round++)
        for (int i = 0; i < DATA; i++) {
            uint64_t count = COUNT, value = round * 100 + (uint64_t)i;
            norn_argument arguments[3] = {norn_pointer(x[i], NORN_WRITE), norn_value(&count, 8), norn_value(&value, 8)};
            device_launch(&d, fill, arguments, 3, NULL);
            device_copy(&d, x[i], host[i], COUNT);
            norn_access access = norn_read(host[i]);
            norn_task task = NORN_TASK_INIT;
            task.run = look;
            task.arg = memory[i];
            task.accesses = &access;
            task.access_count = 1;
            CHECK_OK(norn_submit(d.rt, &task, NULL));
        }
    CHECK_OK(norn_drain(d.rt, FOREVER));
    for (int i = 0; i < DATA; i++)
        for (int k = 0; k < COUNT; k++) CHECK(memory[i][k] == 2000 + (uint64_t)i);
    CHECK_OK(norn_close(d.rt));
    return 0;
}
