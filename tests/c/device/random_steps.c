/* Random kernels, copies and fills (of parts too) and host tasks give what the same steps give one after the other, in every mode.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/standin.h"

enum { data = 12, wide = 96 };

static const uint64_t factor = 6364136223846793005u;

/* On the device, and in memory that the host reads; and what they should hold. */
static norn_data on_device[data], on_host[data];
static uint64_t *host_memory[data], expected_device[data][wide], expected_host[data][wide];

typedef struct host_step {
    uint64_t *to;
    const uint64_t *from;
    uint64_t key;
} host_step;

static void combine_by_hand(uint64_t *to, const uint64_t *from, uint64_t key) {
    for (int i = 0; i < wide; ++i) to[i] = (to[i] ^ key) * factor + from[i];
}

static int32_t run_host_step(norn_self *self, void *arg) {
    const host_step *step = arg;
    (void)self;
    combine_by_hand(step->to, step->from, step->key);
    return 0;
}

static unsigned state;
static int draw(int below) {
    state = state * 1664525u + 1013904223u;
    return (int)(state >> 12) % below;
}

static void one_step(const device *d, norn_kernel mix, norn_kernel combine, uint64_t key) {
    const int a = draw(data), b = (a + 1 + draw(data - 1)) % data;
    const uint64_t count = wide;
    norn_argument arguments[4];
    norn_slice from, to;
    switch (draw(7)) {
    case 0:
        device_mix(d, mix, on_device[a], wide, key);
        for (uint64_t i = 0; i < wide; ++i) expected_device[a][i] = mixed(expected_device[a][i], i, key);
        break;
    case 1:
    case 2:
        arguments[0] = norn_pointer(on_device[a], NORN_READ_WRITE);
        arguments[1] = norn_pointer(on_device[b], NORN_READ);
        arguments[2] = norn_value(&count, sizeof count);
        arguments[3] = norn_value(&key, sizeof key);
        device_launch(d, combine, arguments, 4, NULL);
        combine_by_hand(expected_device[a], expected_device[b], key);
        break;
    case 3:
        device_copy(d, on_device[a], on_host[b], wide);
        memcpy(expected_host[b], expected_device[a], sizeof expected_host[b]);
        break;
    case 4:
        device_copy(d, on_host[a], on_device[b], wide);
        memcpy(expected_device[b], expected_host[a], sizeof expected_device[b]);
        break;
    case 5: {
        /* A part only: the rest stays. */
        const uint64_t begin = (uint64_t)draw(wide), length = (uint64_t)draw((int)(wide - begin) + 1);
        to = norn_slice_of(on_device[a], NORN_U64, length);
        to.offset = begin;
        if (draw(2)) {
            CHECK_OK(norn_fill(d->rt, &to, &key, NULL, NULL));
            for (uint64_t i = 0; i < length; ++i) expected_device[a][begin + i] = key;
        } else {
            from = norn_slice_of(on_device[b], NORN_U64, length);
            CHECK_OK(norn_copy(d->rt, &from, &to, NULL, NULL));
            memcpy(&expected_device[a][begin], expected_device[b], length * 8);
        }
        break;
    }
    default: {
        host_step step = {host_memory[a], host_memory[b], key};
        norn_access accesses[2] = {norn_update(on_host[a]), norn_read(on_host[b])};
        norn_task task = task_of(run_host_step, &step);
        task.flags = NORN_COPY_ARG;
        task.arg_bytes = sizeof step;
        task.accesses = accesses;
        task.access_count = 2;
        submit(d->rt, &task);
        combine_by_hand(expected_host[a], expected_host[b], key);
    }
    }
}

static void run_seed(unsigned seed, int steps) {
    device d = device_open();
    /* Tasks depend on tokens here, which the driver cannot see. */
    if (standin_is_here()) STANDIN(standin_allow)("stream-busy", 1);
    const norn_kernel mix = device_kernel(&d, "mix_u64"), combine = device_kernel(&d, "combine_u64");
    const uint64_t zero = 0;
    state = seed;
    for (int i = 0; i < data; ++i) {
        /* Half of the host's is pinned. */
        static uint64_t pageable[data][wide];
        on_device[i] = device_alloc(&d, sizeof expected_device[i]);
        if (i % 2 == 0) {
            on_host[i] = device_pinned(&d, sizeof expected_host[i], &host_memory[i]);
        } else {
            host_memory[i] = pageable[i];
            on_host[i] = device_host(&d, pageable[i], sizeof expected_host[i]);
        }
        for (uint64_t j = 0; j < wide; ++j) host_memory[i][j] = expected_host[i][j] = (uint64_t)i * 1000 + j;
        memset(expected_device[i], 0, sizeof expected_device[i]);
        norn_slice all = norn_slice_of(on_device[i], NORN_U64, wide);
        CHECK_OK(norn_fill(d.rt, &all, &zero, NULL, NULL));
    }
    for (int step = 0; step < steps; ++step) one_step(&d, mix, combine, (uint64_t)step);
    CHECK_OK(norn_drain(d.rt, FOREVER));
    for (int i = 0; i < data; ++i) {
        if (memcmp(host_memory[i], expected_host[i], sizeof expected_host[i]) != 0) {
            fprintf(stderr, "seed %u: host datum %d differs\n", seed, i);
            CHECK(0);
        }
        CHECK_OK(norn_await(d.rt, device_copy(&d, on_device[i], on_host[i], wide), FOREVER));
        if (memcmp(host_memory[i], expected_device[i], sizeof expected_device[i]) != 0) {
            fprintf(stderr, "seed %u: device datum %d differs\n", seed, i);
            CHECK(0);
        }
        CHECK_OK(norn_data_unregister(d.rt, on_device[i]));
        CHECK_OK(norn_data_unregister(d.rt, on_host[i]));
    }
    CHECK_OK(norn_close(d.rt));
    check_nothing_left();
}

int main(void) {
    for (unsigned seed = 1; seed <= 3; ++seed) run_seed(seed, (int)scaled(700, 100000));
    return 0;
}
