/* The context that is current on the caller's thread is the same after every call, and the lack of one too.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/raw.h"
#include "device/standin.h"

static void *current(void) {
    void *context = NULL;
    RAW("cuCtxGetCurrent", (void **), (&context));
    return context;
}

static int32_t look(norn_self *self, void *arg) {
    (void)self;
    *(void **)arg = current();
    return 0;
}

static void round_trip(const device *d, void *mine) {
    uint64_t *memory;
    const norn_kernel mix = device_kernel(d, "mix_u64");
    CHECK(current() == mine);
    norn_data x = device_alloc(d, 800), host = device_pinned(d, 800, &memory);
    CHECK(current() == mine);
    memset(memory, 0, 800);
    device_copy(d, host, x, 100);
    CHECK(current() == mine);
    device_mix(d, mix, x, 100, 1);
    CHECK(current() == mine);
    CHECK_OK(norn_await(d->rt, device_copy(d, x, host, 100), FOREVER));
    CHECK(current() == mine);
    CHECK_OK(norn_drain(d->rt, FOREVER));
    CHECK_OK(norn_progress(d->rt));
    CHECK(current() == mine);
    CHECK_OK(norn_data_unregister(d->rt, x));
    CHECK_OK(norn_data_unregister(d->rt, host));
    CHECK(current() == mine);
}

int main(void) {
    device d = device_open();
    void *seen = &seen;
    round_trip(&d, NULL);
    /* Another context than norn's. */
    void *other;
    RAW("cuCtxCreate_v2", (void **, unsigned, int), (&other, 0, 0));
    CHECK(current() == other);
    round_trip(&d, other);
    norn_module module;
    CHECK_OK(norn_module_load(d.rt, d.place, ".version 7.0\n.target sm_70\n.address_size 64\n", 46, NULL, &module));
    CHECK(current() == other);
    /* Bodies of host tasks find none on a worker. */
    CHECK_OK(norn_await(d.rt, submit_run(d.rt, look, &seen), FOREVER));
    CHECK(seen == NULL || seen == other);
    CHECK_OK(norn_close(d.rt));
    CHECK(current() == other);
    RAW("cuCtxDestroy_v2", (void *), (other));
    check_nothing_left();
    return 0;
}
