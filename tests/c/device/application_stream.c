/* What the application has queued on its own stream is a token, and what it queues later waits for one.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/raw.h"

#define COUNT 4096

int main(void) {
    device d = device_open();
    norn_kernel mix = device_kernel(&d, "mix_u64");
    uint64_t *memory, *back;
    norn_data host = device_pinned(&d, COUNT * 8, &memory), result = device_pinned(&d, COUNT * 8, &back);
    norn_data x = device_alloc(&d, COUNT * 8);
    void *address;
    CHECK_OK(norn_data_pointer(d.rt, x, &address, NULL));
    raw_context();
    void *own = raw_stream();
    for (uint64_t round = 0; round < 20; round++) {
        for (uint64_t i = 0; i < COUNT; i++) memory[i] = i + round;
        /* The application copies up itself, and hands over by a token. */
        raw_copy((uint64_t)(uintptr_t)address, (uint64_t)(uintptr_t)memory, COUNT * 8, own);
        norn_token queued, done;
        CHECK_OK(norn_stream_record(d.rt, d.place, own, &queued));
        uint64_t key = round, count = COUNT;
        norn_argument arguments[3] = {norn_pointer(x, NORN_READ_WRITE), norn_value(&count, 8), norn_value(&key, 8)};
        norn_task how = NORN_TASK_INIT;
        how.after = &queued;
        how.after_count = 1;
        done = device_launch(&d, mix, arguments, 3, &how);
        /* It takes over again: its own copy down waits for the kernel, on the device. */
        CHECK_OK(norn_stream_wait(d.rt, done, d.place, own, FOREVER));
        raw_copy((uint64_t)(uintptr_t)back, (uint64_t)(uintptr_t)address, COUNT * 8, own);
        RAW("cuStreamSynchronize", (void *), (own));
        for (uint64_t i = 0; i < COUNT; i++) CHECK(back[i] == mixed(i + round, i, key));
    }
    CHECK_STATUS(norn_stream_record(d.rt, d.place, (void *)2, &(norn_token){0}), NORN_E_INVALID);
    CHECK_OK(norn_drain(d.rt, FOREVER));
    raw_stream_end(own);
    raw_context_release();
    (void)host;
    (void)result;
    CHECK_OK(norn_close(d.rt));
    return 0;
}
