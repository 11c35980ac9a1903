/* Random graphs of kernels, copies and host tasks give what running them one after the other gives.
 * The first argument is the seed, the second the number of operations.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/standin.h"

#define DATA 10
#define COUNT 48
#define FACTOR 6364136223846793005u

static uint64_t state;
static uint64_t below(uint64_t limit) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % limit;
}

static uint64_t expected[2 * DATA][COUNT]; /* on the device, then pinned */
static uint64_t *pinned[DATA];

typedef struct host_step {
    uint64_t *to;
    const uint64_t *from;
    uint64_t key;
} host_step;

static void host_apply(uint64_t *to, const uint64_t *from, uint64_t key) {
    for (uint64_t i = 0; i < COUNT; i++) to[i] = (to[i] ^ key) * FACTOR + from[i];
}
static int32_t host_body(norn_self *self, void *arg) {
    (void)self;
    const host_step *s = arg;
    host_apply(s->to, s->from, s->key);
    return 0;
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, operations = argc > 2 ? strtoull(argv[2], NULL, 10) : 600;
    if (getenv("NORN_SOAK") != NULL && argc <= 2) operations = 100000;
    state = seed * 2654435761u + 88172645463325252u;
    norn_device_config config = NORN_DEVICE_CONFIG_INIT;
    config.streams = (int32_t)(2 + below(7));
    device d = device_open_with(&config);
    /* Tasks depend on tokens here, which the driver cannot see. */
    if (standin_is_here()) STANDIN(standin_allow)("stream-busy", 1);
    device_load_kernels(&d);
    norn_kernel mix = device_kernel(&d, "mix_u64"), combine = device_kernel(&d, "combine_u64");
    norn_data x[2 * DATA];
    norn_token tokens[64] = {{0}};
    uint64_t count = COUNT;
    for (int i = 0; i < DATA; i++) {
        uint64_t zero = 0;
        norn_slice whole;
        x[i] = device_alloc(&d, COUNT * 8);
        x[DATA + i] = device_pinned(&d, COUNT * 8, &pinned[i]);
        whole = norn_slice_of(x[i], NORN_U64, COUNT);
        CHECK_OK(norn_fill(d.rt, &whole, &zero, NULL, NULL));
    }
    for (uint64_t n = 0; n < operations; n++) {
        uint64_t key = below(1000), kind = below(10);
        int to = (int)below(DATA), from = (int)below(DATA);
        norn_task how = NORN_TASK_INIT;
        norn_token after[2] = {tokens[below(64)], tokens[below(64)]}, token;
        how.after = after;
        how.after_count = below(3);
        how.priority = (int32_t)below(3);
        if (kind < 3) {
            norn_argument arguments[3] = {norn_pointer(x[to], NORN_READ_WRITE), norn_value(&count, 8), norn_value(&key, 8)};
            token = device_launch(&d, mix, arguments, 3, &how);
            for (uint64_t i = 0; i < COUNT; i++) expected[to][i] = mixed(expected[to][i], i, key);
        } else if (kind < 7) {
            if (to == from) from = (to + 1) % DATA;
            norn_argument arguments[4] = {norn_pointer(x[to], NORN_READ_WRITE), norn_pointer(x[from], NORN_READ),
                                          norn_value(&count, 8), norn_value(&key, 8)};
            token = device_launch(&d, combine, arguments, 4, &how);
            host_apply(expected[to], expected[from], key);
        } else if (kind < 9) {
            int source = to + (below(2) ? DATA : 0), target = from + (below(2) ? DATA : 0);
            if (source == target) target = (target + 1) % (2 * DATA);
            norn_slice one = norn_slice_of(x[source], NORN_U64, COUNT), other = norn_slice_of(x[target], NORN_U64, COUNT);
            CHECK_OK(norn_copy(d.rt, &one, &other, &how, &token));
            memcpy(expected[target], expected[source], sizeof expected[source]);
        } else {
            if (to == from) from = (to + 1) % DATA;
            host_step s = {pinned[to], pinned[from], key};
            norn_access accesses[2] = {norn_update(x[DATA + to]), norn_read(x[DATA + from])};
            norn_task task = NORN_TASK_INIT;
            task.run = host_body;
            task.arg = &s;
            task.arg_bytes = sizeof s;
            task.flags = NORN_COPY_ARG;
            task.accesses = accesses;
            task.access_count = 2;
            task.after = after;
            task.after_count = how.after_count;
            CHECK_OK(norn_submit(d.rt, &task, &token));
            host_apply(expected[DATA + to], expected[DATA + from], key);
        }
        tokens[below(64)] = token;
        if (below(200) == 0) {
            int32_t done;
            CHECK_OK(norn_await(d.rt, token, FOREVER));
            for (int i = 0; i < 2; i++) {
                CHECK_OK(norn_test(d.rt, after[i], &done));
                if ((uint64_t)i < how.after_count && !done) {
                    fprintf(stderr, "seed %llu: a token shows complete before one that it follows\n", (unsigned long long)seed);
                    return 1;
                }
            }
        }
    }
    CHECK_OK(norn_drain(d.rt, FOREVER));
    for (int i = 0; i < DATA; i++) {
        uint64_t result[COUNT];
        norn_slice source = norn_slice_of(x[i], NORN_U64, COUNT), target = norn_slice_at(result, NORN_U64, COUNT);
        norn_token token;
        CHECK_OK(norn_copy(d.rt, &source, &target, NULL, &token));
        CHECK_OK(norn_await(d.rt, token, FOREVER));
        if (memcmp(result, expected[i], sizeof result) != 0 || memcmp(pinned[i], expected[DATA + i], sizeof result) != 0) {
            fprintf(stderr, "seed %llu: datum %d differs\n", (unsigned long long)seed, i);
            return 1;
        }
    }
    CHECK_OK(norn_close(d.rt));
    return 0;
}
