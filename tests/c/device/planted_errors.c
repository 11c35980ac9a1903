/* Whichever call of the driver fails, and the how-many-eth: every token ends, nothing hangs, crashes or is left, and what did
 * complete is right.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/standin.h"

enum { count = 100, out_of_memory = 2, invalid_value = 1, unknown = 999 };

static const char *const symbols[] = {
    "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuCtxGetCurrent", "cuStreamCreateWithPriority", "cuStreamWaitEvent",
    "cuEventCreate", "cuEventRecord", "cuEventQuery", "cuStreamQuery", "cuStreamSynchronize", "cuLaunchHostFunc", "cuLaunchKernel",
    "cuMemAlloc", "cuMemAllocFromPoolAsync", "cuMemFreeAsync", "cuMemFree", "cuMemPoolCreate", "cuMemPoolSetAttribute",
    "cuMemHostAlloc", "cuMemcpyAsync", "cuMemcpy2DAsync", "cuMemsetD8Async", "cuMemsetD32Async", "cuModuleLoadDataEx",
    "cuModuleGetFunction", "cuDeviceGetAttribute", "cuDeviceGetName", "cuPointerGetAttribute"};

static int failures, wrong;

/* Every call may fail with a device's error or for want of memory, and then the rest is left out. */
static int fine(norn_status status) {
    if (status == NORN_OK) return 1;
    if (status != NORN_E_DEVICE && status != NORN_E_MEMORY && status != NORN_E_PROPAGATED && status != NORN_E_UNSUPPORTED) {
        fprintf(stderr, "unexpected %s: %s\n", norn_status_name(status), norn_last_error());
        CHECK(0);
    }
    CHECK(norn_last_error()[0] != '\0');
    ++failures;
    return 0;
}

static void work(norn_runtime *rt) {
    static char text[1 << 20];
    device d;
    norn_kernel mix;
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data x = {0}, host = {0};
    norn_token tokens[4] = {{0}};
    void *memory = NULL;
    memset(&d, 0, sizeof d);
    d.rt = rt;
    if (!fine(norn_device_open(rt, NULL, &d.place))) return;
    FILE *file = fopen(NORN_KERNELS, "rb");
    CHECK(file != NULL);
    const size_t bytes = fread(text, 1, sizeof text, file);
    fclose(file);
    if (!fine(norn_module_load(rt, d.place, text, bytes, NULL, &d.module)) ||
        !fine(norn_kernel_get(rt, d.module, "mix_u64", &mix)))
        return;
    desc.bytes = count * 8;
    desc.kind = NORN_MEMORY_DEVICE;
    desc.place = d.place;
    if (!fine(norn_data_alloc(rt, &desc, &x))) return;
    desc.kind = NORN_MEMORY_PINNED;
    desc.place = (norn_place){0, 0};
    if (!fine(norn_data_alloc(rt, &desc, &host))) {
        CHECK_OK(norn_data_unregister(rt, x));
        return;
    }
    CHECK_OK(norn_data_pointer(rt, host, &memory, NULL));
    for (uint64_t i = 0; i < count; ++i) ((uint64_t *)memory)[i] = i;
    const uint64_t n = count, key = 5;
    const norn_argument arguments[3] = {norn_pointer(x, NORN_READ_WRITE), norn_value(&n, sizeof n), norn_value(&key, sizeof key)};
    norn_launch_desc launch = NORN_LAUNCH_INIT;
    launch.kernel = mix;
    launch.block[0] = 64;
    launch.arguments = arguments;
    launch.argument_count = 3;
    norn_slice up = norn_slice_of(host, NORN_U64, n), down = norn_slice_of(x, NORN_U64, n);
    if (fine(norn_copy(rt, &up, &down, NULL, &tokens[0])) && fine(norn_launch(rt, &launch, NULL, &tokens[1])) &&
        fine(norn_launch(rt, &launch, NULL, &tokens[2])) && fine(norn_copy(rt, &down, &up, NULL, &tokens[3]))) {
        int good = 1;
        for (int i = 0; i < 4; ++i) {
            const norn_status status = norn_await(rt, tokens[i], 20 * SECOND);
            CHECK(status != NORN_E_TIMEOUT);
            good &= fine(status);
        }
        for (uint64_t i = 0; good && i < count; ++i) CHECK(((uint64_t *)memory)[i] == mixed(mixed(i, i, 5), i, 5));
    }
    norn_status status = norn_data_unregister(rt, x);
    CHECK(status == NORN_OK || status == NORN_E_DEVICE);
    status = norn_data_unregister(rt, host);
    CHECK(status == NORN_OK || status == NORN_E_DEVICE);
}

/* In a child, since a poisoned context is for good. 1: the error was met. */
static int met(const char *symbol, int nth, CUresult code) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(50);
        STANDIN(standin_on_violation)(STANDIN_COUNT);
        STANDIN(standin_fail_next)(symbol, nth, code);
        norn_runtime *rt = open_plain();
        work(rt);
        const norn_status closed = norn_close(rt);
        if (closed != NORN_OK) (void)fine(closed);
        /* One that poisons leaves what the driver no longer gives back. */
        if (code != 700) {
            CHECK_EQUAL(STANDIN(standin_live)("pending"), 0);
            CHECK_EQUAL(STANDIN(standin_violations)("race") + STANDIN(standin_violations)("memory-in-use"), 0);
        }
        _exit(failures != 0 ? 2 : 0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 2)) {
        fprintf(stderr, "call %d of %s with error %d: wait status %d\n", nth, symbol, code, status);
        ++wrong;
    }
    return WEXITSTATUS(status) == 2;
}

int main(void) {
    standin_or_skip();
    const int codes[] = {out_of_memory, unknown, 700};
    const int deep = (int)scaled(2, 12);
    int seen = 0, tried = 0;
    for (size_t s = 0; s < COUNT_OF(symbols); ++s)
        for (int nth = 1; nth <= deep; ++nth)
            for (size_t c = 0; c < COUNT_OF(codes); ++c, ++tried) seen += met(symbols[s], nth, codes[c]);
    printf("%d of %d errors were met\n", seen, tried);
    CHECK_EQUAL(wrong, 0);
    CHECK(seen > 20);
    return 0;
}
