/* Work that goes back and forth between two devices, from one thread, gives what it should (M3, P3).
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/standin.h"

enum { count = 5000, rounds = 100 };

int main(void) {
    norn_device_config config = NORN_DEVICE_CONFIG_INIT;
    config.select = NORN_DEVICE_ORDINAL;
    device first = device_open_with(&config), second = first;
    device_load_kernels(&first);
    config.ordinal = 1;
    const norn_status status = norn_device_open(first.rt, &config, &second.place);
    if (status == NORN_E_INVALID) {
        printf("skipped: there is one device only: %s\n", norn_last_error());
        return SKIPPED;
    }
    CHECK_OK(status);
    device_load_kernels(&second);
    const norn_kernel mix_first = device_kernel(&first, "mix_u64"), mix_second = device_kernel(&second, "mix_u64");
    uint64_t *memory;
    norn_data x = device_alloc(&first, count * 8), y = device_alloc(&second, count * 8);
    norn_data host = device_pinned(&first, count * 8, &memory);
    for (uint64_t i = 0; i < count; ++i) memory[i] = i;
    device_copy(&first, host, x, count);
    for (uint64_t round = 0; round < rounds; ++round) {
        device_mix(&first, mix_first, x, count, round);
        device_copy(&first, x, y, count);
        device_mix(&second, mix_second, y, count, round + 1000);
        device_copy(&second, y, x, count);
    }
    CHECK_OK(norn_await(first.rt, device_copy(&first, x, host, count), FOREVER));
    for (uint64_t i = 0; i < count; ++i) {
        uint64_t value = i;
        for (uint64_t round = 0; round < rounds; ++round) value = mixed(mixed(value, i, round), i, round + 1000);
        CHECK(memory[i] == value);
    }
    CHECK_OK(norn_data_unregister(first.rt, x));
    CHECK_OK(norn_data_unregister(first.rt, y));
    CHECK_OK(norn_data_unregister(first.rt, host));
    CHECK_OK(norn_close(first.rt));
    check_nothing_left();
    return 0;
}
