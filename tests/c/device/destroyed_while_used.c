/* Cancelled and unregistered right after the submit, in every order: what a kernel still uses is not given to others, and what
 * it made is what arrives (P1).
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/standin.h"

enum { COUNT = 4096 };

/* One letter a step: the kernel's token is cancelled, that of the copy behind it is, the datum is unregistered. */
static const char *const orders[] = {"u", "ku", "uk", "cu", "uc", "kcu", "ukc", "kuc"};

static norn_status unregister(const device *d, norn_data x) {
    norn_status status = norn_data_unregister(d->rt, x);
    /* It tells how the last access ended, and is over all the same. */
    CHECK(status == NORN_OK || status == NORN_E_CANCELLED || status == NORN_E_PROPAGATED);
    return status;
}

int main(void) {
    device d = device_open();
    norn_kernel mix = device_kernel(&d, "mix_u64"), spin = device_kernel(&d, "spin_ns");
    const int64_t busy = (getenv("NORN_SOAK") != NULL ? 300 : 20) * MILLISECOND;
    uint64_t *start, *end;
    norn_data up = device_pinned(&d, COUNT * 8, &start), down = device_pinned(&d, COUNT * 8, &end);
    for (uint64_t i = 0; i < COUNT; i++) start[i] = i;
    for (size_t n = 0; n < COUNT_OF(orders); n++) {
        norn_data x = device_alloc(&d, COUNT * 8);
        memset(end, 0, COUNT * 8);
        device_copy(&d, up, x, COUNT);
        device_spin(&d, spin, (uint64_t)busy, x, NORN_READ_WRITE);
        norn_token kernel = device_mix(&d, mix, x, COUNT, n), copy = device_copy(&d, x, down, COUNT);
        for (const char *step = orders[n]; *step != '\0'; step++) {
            if (*step == 'u') {
                unregister(&d, x);
            } else {
                norn_status status = norn_cancel(d.rt, *step == 'k' ? kernel : copy);
                CHECK(status == NORN_OK || status == NORN_E_TOO_LATE);
            }
        }
        /* The same memory again, most likely: what is put there must not be seen by what was under way. */
        norn_data y = device_alloc(&d, COUNT * 8);
        norn_slice all = norn_slice_of(y, NORN_U64, COUNT);
        uint64_t other = 0xeeeeeeeeeeeeeeeeu;
        CHECK_OK(norn_fill(d.rt, &all, &other, NULL, NULL));
        norn_status ended = norn_await(d.rt, copy, FOREVER);
        norn_drain(d.rt, FOREVER);
        CHECK(ended == NORN_OK || ended == NORN_E_CANCELLED || ended == NORN_E_PROPAGATED);
        for (uint64_t i = 0; i < COUNT; i++) CHECK(end[i] == (ended == NORN_OK ? mixed(i, i, n) : 0));
        CHECK_OK(norn_data_unregister(d.rt, y));
        if (ended != NORN_OK) { /* the target of a copy that did not happen is written anew */
            norn_slice back = norn_slice_of(up, NORN_U64, COUNT), to = norn_slice_of(down, NORN_U64, COUNT);
            CHECK_OK(norn_copy(d.rt, &back, &to, NULL, &copy));
            CHECK_OK(norn_await(d.rt, copy, FOREVER));
        }
    }
    norn_close(d.rt); /* tells of what was cancelled */
    check_nothing_left();
    return 0;
}
