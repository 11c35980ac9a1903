/*
 * What norn makes of the copy engines: copies of pinned memory by the driver alone and by norn, in one run; one way at a
 * time, both ways at once, and both beside a kernel.
 *
 *   copies [MIB]     256 a copy
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#include "driver.h"

enum { ROUNDS = 11, AT_ONCE = 4 };

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry spin_ns(.param .u64 ns)\n{\n.reg .u64 %start, %now, %ns, %past;\n.reg .pred %on;\n"
                          "ld.param.u64 %ns, [ns];\nmov.u64 %start, %globaltimer;\n"
                          "again:\nmov.u64 %now, %globaltimer;\nsub.u64 %past, %now, %start;\n"
                          "setp.lt.u64 %on, %past, %ns;\n@%on bra again;\nret;\n}\n";

static norn_runtime *rt;
static norn_place place;
static norn_kernel spin_kernel;
static void *spin, *streams[3];
static norn_data up_from, up_to, down_from, down_to, busy;
static size_t bytes;

static uint64_t address(norn_data data) {
    void *pointer;
    DO(norn_data_pointer(rt, data, &pointer, NULL));
    return (uint64_t)(uintptr_t)pointer;
}
static norn_data allocate(int32_t kind) {
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data data;
    desc.bytes = bytes;
    desc.kind = kind;
    if (kind == NORN_MEMORY_DEVICE) desc.place = place;
    DO(norn_data_alloc(rt, &desc, &data));
    return data;
}

/* What a round does: copies up, copies down, copies within the device, and a kernel of so many ns beside them. */
typedef struct load {
    const char *name;
    int up, down, within;
    uint64_t ns;
} load;

static double raw(const load *l) {
    double start = now_us();
    uint64_t ns = l->ns;
    void *arguments[1] = {&ns};
    if (ns != 0) DO(cu.launch(spin, 1, 1, 1, 1, 1, 1, 0, streams[2], arguments, NULL));
    for (int i = 0; i < AT_ONCE; i++) {
        if (l->up) DO(cu.copy(address(up_to), address(up_from), bytes, streams[0]));
        if (l->down) DO(cu.copy(address(down_to), address(down_from), bytes, streams[1]));
        if (l->within) DO(cu.copy(address(up_to), address(down_from), bytes, streams[0]));
    }
    for (int i = 0; i < 3; i++) DO(cu.stream_synchronize(streams[i]));
    return now_us() - start;
}

static void copy(norn_data from, norn_data to) {
    norn_slice source = norn_slice_of(from, NORN_BYTE, bytes), target = norn_slice_of(to, NORN_BYTE, bytes);
    DO(norn_copy(rt, &source, &target, NULL, NULL));
}

static double by_norn(const load *l) {
    double start = now_us();
    uint64_t ns = l->ns;
    if (ns != 0) {
        norn_launch_desc launch = NORN_LAUNCH_INIT;
        norn_argument argument = norn_value(&ns, sizeof ns);
        norn_access access = norn_update(busy);
        norn_task how = NORN_TASK_INIT;
        launch.kernel = spin_kernel;
        launch.arguments = &argument;
        launch.argument_count = 1;
        how.accesses = &access;
        how.access_count = 1;
        DO(norn_launch(rt, &launch, &how, NULL));
    }
    for (int i = 0; i < AT_ONCE; i++) {
        if (l->up) copy(up_from, up_to);
        if (l->down) copy(down_from, down_to);
        if (l->within) copy(down_from, up_to);
    }
    DO(norn_drain(rt, -1));
    return now_us() - start;
}

int main(int argc, char **argv) {
    norn_config config = NORN_CONFIG_INIT;
    norn_module module;
    void *loaded;
    bytes = (size_t)(argc > 1 ? number(argv[1]) : 256) << 20;
    config.workers = 2;
    DO(norn_open(&config, &rt));
    norn_device_info info = open_device(rt, 0, &place);
    driver_start(info.ordinal);
    DO(norn_module_load(rt, place, ptx, sizeof ptx - 1, NULL, &module));
    DO(norn_kernel_get(rt, module, "spin_ns", &spin_kernel));
    DO(cu.load(&loaded, ptx));
    DO(cu.function(&spin, loaded, "spin_ns"));
    for (int i = 0; i < 3; i++) DO(cu.stream_create(&streams[i], 1));
    up_from = allocate(NORN_MEMORY_PINNED);
    down_to = allocate(NORN_MEMORY_PINNED);
    up_to = allocate(NORN_MEMORY_DEVICE);
    down_from = allocate(NORN_MEMORY_DEVICE);
    norn_data_desc name = NORN_DATA_DESC_INIT;
    DO(norn_data_register(rt, &name, &busy));

    load loads[] = {{"host to device", 1, 0, 0, 0},
                    {"device to host", 0, 1, 0, 0},
                    {"within the device", 0, 0, 1, 0},
                    {"both ways", 1, 1, 0, 0},
                    {"both ways beside a kernel", 1, 1, 0, 1}};
    printf("%s, %d copies of %zu MiB each way\n", info.name, (int)AT_ONCE, bytes >> 20);
    for (size_t k = 0; k < sizeof loads / sizeof *loads; k++) {
        double alone[ROUNDS], with_norn[ROUNDS];
        load *l = &loads[k];
        if (l->ns != 0) { /* as long as the copies beside it */
            load copies = *l;
            copies.ns = 0;
            raw(&copies);
            l->ns = (uint64_t)(raw(&copies) * 1e3);
        }
        raw(l);
        by_norn(l);
        for (int i = 0; i < ROUNDS; i++) {
            alone[i] = raw(l);
            with_norn[i] = by_norn(l);
        }
        double moved = (double)bytes * AT_ONCE * (l->up + l->down + l->within);
        double floor = median(alone, ROUNDS), time = median(with_norn, ROUNDS);
        printf("%-26s driver %8.2f GB/s, norn %8.2f GB/s: %5.1f %%\n", l->name, moved / floor * 1e-3, moved / time * 1e-3,
               100 * floor / time);
    }
    for (int i = 0; i < 3; i++) DO(cu.stream_destroy(streams[i]));
    DO(cu.unload(loaded));
    driver_end(info.ordinal);
    DO(norn_close(rt));
    return 0;
}
