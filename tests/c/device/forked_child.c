/* A forked child of a process with an open device is told so by every call, however it leaves, and makes no call of the driver;
 * the parent, whose kernels run meanwhile, is unharmed (N7).
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/device.h"

#define COUNT 1000

static device d;
static norn_kernel mix;
static norn_data x, down;
static norn_token under_way;

static int calls_in_child(void) {
    uint64_t count = COUNT, one = 1;
    const norn_argument arguments[3] = {norn_pointer(x, NORN_READ_WRITE), norn_value(&count, 8), norn_value(&one, 8)};
    const norn_slice from = norn_slice_of(x, NORN_U64, COUNT), to = norn_slice_of(down, NORN_U64, COUNT);
    norn_launch_desc launch = NORN_LAUNCH_INIT;
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_device_info info = NORN_DEVICE_INFO_INIT;
    norn_module module = {0};
    norn_kernel kernel = {0};
    norn_token token = {5};
    norn_data data = {6};
    norn_place place = {0};
    launch.kernel = mix;
    launch.grid[0] = launch.block[0] = 1;
    launch.arguments = arguments;
    launch.argument_count = 3;
    desc.bytes = COUNT * 8;
    desc.kind = NORN_MEMORY_DEVICE;
    desc.place = d.place;
    const norn_status answers[] = {
        norn_launch(d.rt, &launch, NULL, &token),
        norn_copy(d.rt, &from, &to, NULL, &token),
        norn_fill(d.rt, &from, &one, NULL, &token),
        norn_data_alloc(d.rt, &desc, &data),
        norn_data_unregister(d.rt, x),
        norn_device_get(d.rt, d.place, &info),
        norn_device_open(d.rt, NULL, &place),
        norn_module_load(d.rt, d.place, "", 1, NULL, &module),
        norn_kernel_get(d.rt, d.module, "mix_u64", &kernel),
        norn_await(d.rt, under_way, FOREVER),
        norn_progress(d.rt),
        norn_close_with(d.rt, NORN_CANCEL, 0),
        norn_close(d.rt),
    };
    for (size_t i = 0; i < COUNT_OF(answers); i++)
        if (answers[i] != NORN_E_FORKED) {
            fprintf(stderr, "call %zu in the child: %s\n", i, norn_status_name(answers[i]));
            return 10 + (int)i;
        }
    return token.id == 5 && data.id == 6 ? 0 : 40;
}

static void close_at_exit(void) {
    if (norn_close(d.rt) != NORN_E_FORKED) _exit(41);
}

static int32_t run_system(norn_self *self, void *arg) {
    (void)self, (void)arg;
    return system("true");
}

static void child(int way) {
    switch (way) {
    case 0: _exit(0);
    case 1: exit(0);
    case 2: execl("/bin/true", "true", (char *)NULL); _exit(42);
    case 3: _exit(calls_in_child());
    default: exit(atexit(close_at_exit) == 0 ? calls_in_child() : 43);
    }
}

int main(void) {
    enum { WAYS = 5 };
    uint64_t *memory;
    d = device_open();
    mix = device_kernel(&d, "mix_u64");
    const norn_kernel spin = device_kernel(&d, "spin_ns");
    x = device_alloc(&d, COUNT * 8);
    down = device_pinned(&d, COUNT * 8, &memory);
    for (uint64_t i = 0; i < COUNT; i++) memory[i] = i;
    device_copy(&d, down, x, COUNT);
    for (int way = 0; way < WAYS; way++) {
        device_spin(&d, spin, 5000000, x, NORN_READ_WRITE);
        under_way = device_mix(&d, mix, x, COUNT, (uint64_t)way);
        fflush(stdout);
        const pid_t forked = fork();
        CHECK(forked >= 0);
        if (forked == 0) child(way);
        int status = -1;
        pid_t got;
        const int64_t until = now_ns() + 20 * SECOND;
        while ((got = waitpid(forked, &status, WNOHANG)) == 0) {
            if (now_ns() > until) kill(forked, SIGKILL);
            sleep_ms(1);
        }
        CHECK(got == forked && WIFEXITED(status));
        CHECK_EQUAL(WEXITSTATUS(status), 0);
        CHECK_OK(norn_await(d.rt, submit_run(d.rt, run_system, NULL), FOREVER));
    }
    CHECK_OK(norn_await(d.rt, device_copy(&d, x, down, COUNT), FOREVER));
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t expected = i;
        for (uint64_t way = 0; way < WAYS; way++) expected = mixed(expected, i, way);
        CHECK(memory[i] == expected);
    }
    CHECK_OK(norn_close(d.rt));
    return 0;
}
