/* Many threads submit device work on data of their own and on one that they share.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/standin.h"

enum { threads = 6, count = 256 };

typedef struct part {
    const device *d;
    norn_kernel mix, add;
    norn_data shared;
    uint64_t number;
    int rounds;
} part;

static void *work(void *arg) {
    const part *p = arg;
    uint64_t *memory;
    norn_data x = device_alloc(p->d, count * 8), host = device_pinned(p->d, count * 8, &memory);
    for (int round = 0; round < p->rounds; ++round) {
        const uint64_t n = count, key = p->number * 1000 + (uint64_t)round;
        for (uint64_t i = 0; i < count; ++i) memory[i] = key + i;
        device_copy(p->d, host, x, count);
        device_mix(p->d, p->mix, x, count, key);
        const norn_argument arguments[2] = {norn_pointer(p->shared, NORN_READ_WRITE), norn_value(&n, sizeof n)};
        device_launch(p->d, p->add, arguments, 2, NULL);
        CHECK_OK(norn_await(p->d->rt, device_copy(p->d, x, host, count), FOREVER));
        for (uint64_t i = 0; i < count; ++i) CHECK(memory[i] == mixed(key + i, i, key));
    }
    CHECK_OK(norn_data_unregister(p->d->rt, x));
    CHECK_OK(norn_data_unregister(p->d->rt, host));
    return NULL;
}

int main(void) {
    device d = device_open();
    part parts[threads];
    pthread_t ids[threads];
    const int rounds = (int)scaled(15, 2000);
    const uint64_t zero = 0;
    uint64_t *memory;
    norn_data shared = device_alloc(&d, count * 8), host = device_pinned(&d, count * 8, &memory);
    norn_slice all = norn_slice_of(shared, NORN_U64, count);
    CHECK_OK(norn_fill(d.rt, &all, &zero, NULL, NULL));
    for (int i = 0; i < threads; ++i) {
        parts[i] = (part){&d, device_kernel(&d, "mix_u64"), device_kernel(&d, "add_one_u64"), shared, (uint64_t)i, rounds};
        CHECK(pthread_create(&ids[i], NULL, work, &parts[i]) == 0);
    }
    for (int i = 0; i < threads; ++i) CHECK(pthread_join(ids[i], NULL) == 0);
    CHECK_OK(norn_await(d.rt, device_copy(&d, shared, host, count), FOREVER));
    for (int i = 0; i < count; ++i) CHECK_EQUAL(memory[i], threads * rounds);
    CHECK_OK(norn_data_unregister(d.rt, shared));
    CHECK_OK(norn_data_unregister(d.rt, host));
    CHECK_OK(norn_close(d.rt));
    check_nothing_left();
    return 0;
}
