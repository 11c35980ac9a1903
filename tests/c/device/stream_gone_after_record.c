/* An application's stream may be destroyed as soon as norn_stream_record has returned: norn does not touch it any more, and
 * the token ends all the same.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/raw.h"

enum { COUNT = 4096 };

int main(void) {
    device d = device_open();
    norn_kernel mix = device_kernel(&d, "mix_u64");
    uint64_t *memory, *back;
    norn_data host = device_pinned(&d, COUNT * 8, &memory), result = device_pinned(&d, COUNT * 8, &back);
    norn_data x = device_alloc(&d, COUNT * 8);
    void *address;
    CHECK_OK(norn_data_pointer(d.rt, x, &address, NULL));
    raw_context();
    for (uint64_t round = 0; round < 10; round++) {
        void *own = raw_stream();
        for (uint64_t i = 0; i < COUNT; i++) memory[i] = i + round;
        raw_copy((uint64_t)(uintptr_t)address, (uint64_t)(uintptr_t)memory, COUNT * 8, own);
        norn_token queued;
        CHECK_OK(norn_stream_record(d.rt, d.place, own, &queued));
        raw_stream_end(own);
        uint64_t key = round, count = COUNT;
        norn_argument arguments[3] = {norn_pointer(x, NORN_READ_WRITE), norn_value(&count, 8), norn_value(&key, 8)};
        norn_task how = NORN_TASK_INIT;
        how.after = &queued;
        how.after_count = 1;
        device_launch(&d, mix, arguments, 3, &how);
        CHECK_OK(norn_await(d.rt, device_copy(&d, x, result, COUNT), FOREVER));
        CHECK_OK(norn_await(d.rt, queued, FOREVER));
        for (uint64_t i = 0; i < COUNT; i++) CHECK(back[i] == mixed(i + round, i, key));
    }
    raw_context_release();
    (void)host;
    CHECK_OK(norn_close(d.rt));
    return 0;
}
