// Edges between ranks from and to device memory, under an MPI that takes none and under one that takes it: never an old value,
// whole rows and parts of them, failures, ceilings. On any driver; run.sh runs it on the stand-in, under MPIs that take none.
//
//   device_edges KERNELS [EDGES [ROUNDS]]        the path of tests/cuda/kernels.ptx; 400 staged edges in a row; 40 rounds of the
//                                                late kernel, with more than 40 also slower kernels and 64 MiB
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define COUNT 5000
#define CEILING (4 << 20) /* bytes of pinned memory */

static norn_runtime *rt;
static norn_world *world;
static norn_place device;
static norn_kernel mix, spin;
static int by_mpi; /* MPI takes device memory */

/* The log says once that messages are staged (K1). */
static atomic_int said_staged;
static void sink(void *arg, int32_t level, const char *text) {
    (void)arg, (void)level;
    if (strstr(text, "through pinned host memory") != NULL) atomic_fetch_add(&said_staged, 1);
}

static norn_data on_device(uint64_t count) {
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data data;
    desc.bytes = count * 8;
    desc.kind = NORN_MEMORY_DEVICE;
    desc.place = device;
    OK(norn_data_alloc(rt, &desc, &data));
    return data;
}
static norn_data pinned(uint64_t count, uint64_t **memory) {
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data data;
    void *pointer;
    desc.bytes = count * 8;
    desc.kind = NORN_MEMORY_PINNED;
    OK(norn_data_alloc(rt, &desc, &data));
    OK(norn_data_pointer(rt, data, &pointer, NULL));
    *memory = pointer;
    return data;
}
static norn_token copy(norn_data from, norn_data to, uint64_t count) {
    norn_slice source = norn_slice_of(from, NORN_U64, count), target = norn_slice_of(to, NORN_U64, count);
    norn_token token;
    OK(norn_copy(rt, &source, &target, NULL, &token));
    return token;
}
static void launch(norn_kernel kernel, const norn_argument *arguments, uint64_t count, norn_data on) {
    norn_launch_desc what = NORN_LAUNCH_INIT;
    norn_task how = NORN_TASK_INIT;
    norn_access access = norn_update(on);
    what.kernel = kernel;
    what.grid[0] = 4;
    what.block[0] = 64;
    what.arguments = arguments;
    what.argument_count = count;
    how.accesses = &access;
    how.access_count = 1;
    OK(norn_launch(rt, &what, &how, NULL));
}
static void mix_by(norn_data x, uint64_t count, uint64_t key) {
    norn_argument arguments[3] = {norn_pointer(x, NORN_READ_WRITE), norn_value(&count, 8), norn_value(&key, 8)};
    launch(mix, arguments, 3, x);
}
static void spin_on(norn_data x, uint64_t ns) {
    norn_argument argument = norn_value(&ns, 8);
    launch(spin, &argument, 1, x);
}
static uint64_t mixed(uint64_t x, uint64_t i, uint64_t key) { return (x ^ key) * 6364136223846793005u + i; }

/* A late kernel, an edge, and a kernel of the receiver's at once: nobody sees an old value (K3). */
static void no_old_values(uint64_t rounds, uint64_t count, uint64_t spin_ns) {
    uint64_t *start, *end;
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    norn_data up = pinned(count, &start), down = pinned(count, &end), x = on_device(count), y = on_device(count);
    for (uint64_t round = 0; round < rounds; round++) {
        norn_slice from = norn_slice_of(x, NORN_U64, count), to = norn_slice_of(y, NORN_U64, count);
        for (uint64_t i = 0; i < count; i++) start[i] = (uint64_t)rank * 1000000 + i + round;
        copy(up, x, count);
        spin_on(x, round % 4 * spin_ns / 3);
        mix_by(x, count, round);
        norn_token sent;
        OK(norn_send(world, &from, right, round % 2 ? NORN_KEY_ORDER : 7, NULL, &sent));
        OK(norn_recv(world, &to, left, round % 2 ? NORN_KEY_ORDER : 7, NULL, NULL));
        mix_by(y, count, 99);
        OK(norn_await(rt, copy(y, down, count), -1));
        for (uint64_t i = 0; i < count; i++)
            CHECK(end[i] == mixed(mixed((uint64_t)left * 1000000 + i + round, i, round), i, 99));
        /* The host is about to write to what was copied up. */
        OK(norn_await(rt, sent, -1));
    }
    for (int i = 0; i < 4; i++) OK(norn_data_unregister(rt, (norn_data[]){up, down, x, y}[i]));
}

static void *driver_call(const char *name) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *found;
    if (driver == NULL) driver = dlopen("libcuda.so", RTLD_NOW | RTLD_NOLOAD);
    CHECK(driver != NULL && (found = dlsym(driver, name)) != NULL);
    return found;
}
/* Calls the driver by name with its parameter types. */
#define DRIVER(name, types, arguments)               \
    do {                                             \
        int(*call_) types;                           \
        *(void **)&call_ = driver_call(name);        \
        CHECK(call_ arguments == 0);                 \
    } while (0)

/* Managed memory: as a datum of the device, as one of the host, and by its address alone; between two kernels (K1). */
static void managed(void) {
    uint64_t address[2];
    void *context;
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    DRIVER("cuDevicePrimaryCtxRetain", (void **, int), (&context, 0));
    DRIVER("cuCtxSetCurrent", (void *), (context));
    for (int i = 0; i < 2; i++) DRIVER("cuMemAllocManaged", (uint64_t *, size_t, unsigned), (&address[i], COUNT * 8, 1));
    uint64_t *const out = (uint64_t *)address[0], *const in = (uint64_t *)address[1];
    for (uint64_t form = 0; form < 3; form++) {
        norn_data_desc desc = NORN_DATA_DESC_INIT;
        norn_data x, y;
        norn_token sent, received;
        desc.bytes = COUNT * 8;
        if (form != 1) desc.kind = NORN_MEMORY_DEVICE, desc.place = device;
        desc.ptr = out;
        OK(norn_data_register(rt, &desc, &x));
        desc.ptr = in;
        OK(norn_data_register(rt, &desc, &y));
        for (uint64_t i = 0; i < COUNT; i++) out[i] = (uint64_t)rank * 1000000 + i, in[i] = 0;
        if (form != 1) spin_on(x, 2000000), mix_by(x, COUNT, form);
        norn_slice from = norn_slice_of(x, NORN_U64, COUNT), to = norn_slice_of(y, NORN_U64, COUNT);
        if (form == 2) {
            /* No datum says who wrote it. */
            OK(norn_drain(rt, -1));
            from = norn_slice_at(out, NORN_U64, COUNT), to = norn_slice_at(in, NORN_U64, COUNT);
        }
        OK(norn_send(world, &from, right, 8, NULL, &sent));
        OK(norn_recv(world, &to, left, 8, NULL, &received));
        if (form == 2) OK(norn_await(rt, received, -1));
        if (form != 1) mix_by(y, COUNT, 50);
        OK(norn_drain(rt, -1));
        for (uint64_t i = 0; i < COUNT; i++) {
            const uint64_t given = (uint64_t)left * 1000000 + i;
            CHECK(in[i] == (form == 1 ? given : mixed(mixed(given, i, form), i, 50)));
        }
        OK(norn_data_unregister(rt, x));
        OK(norn_data_unregister(rt, y));
    }
    for (int i = 0; i < 2; i++) DRIVER("cuMemFree_v2", (uint64_t), (address[i]));
    DRIVER("cuCtxSetCurrent", (void *), (NULL));
    DRIVER("cuDevicePrimaryCtxRelease_v2", (int), (0));
}

/* Columns of a matrix, the empty message, and an address that does not say that it is a device's. */
static void parts(void) {
    enum { ROWS = 30, COLUMNS = 20 };
    uint64_t *start, *end;
    void *address;
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    norn_data up = pinned(ROWS * COLUMNS, &start), down = pinned(ROWS * COLUMNS, &end);
    norn_data x = on_device(ROWS * COLUMNS), y = on_device(ROWS * COLUMNS);
    for (uint64_t i = 0; i < ROWS * COLUMNS; i++) start[i] = (uint64_t)rank * 10000 + i;
    copy(up, x, ROWS * COLUMNS);
    OK(norn_await(rt, copy(up, y, ROWS * COLUMNS), -1));
    norn_slice from = norn_slice_of(x, NORN_U64, 3), to = norn_slice_of(y, NORN_U64, 2);
    from.offset = 17, from.blocks = ROWS, from.stride = COLUMNS;
    to.offset = 0, to.count = 3, to.blocks = ROWS, to.stride = COLUMNS;
    OK(norn_send(world, &from, right, 1, NULL, NULL));
    OK(norn_recv(world, &to, left, 1, NULL, NULL));
    OK(norn_await(rt, copy(y, down, ROWS * COLUMNS), -1));
    for (uint64_t row = 0; row < ROWS; row++)
        for (uint64_t column = 0; column < COLUMNS; column++) {
            const uint64_t here = row * COLUMNS + column;
            CHECK(end[here] == (column < 3 ? (uint64_t)left * 10000 + here + 17 : (uint64_t)rank * 10000 + here));
        }
    from = norn_slice_of(x, NORN_U64, 0), to = norn_slice_of(y, NORN_U64, 0);
    OK(norn_send(world, &from, right, 2, NULL, NULL));
    norn_token empty, bare;
    OK(norn_recv(world, &to, left, 2, NULL, &empty));
    OK(norn_await(rt, empty, -1));
    OK(norn_data_pointer(rt, x, &address, NULL));
    from = norn_slice_at(address, NORN_U64, ROWS * COLUMNS);
    to = norn_slice_of(y, NORN_U64, ROWS * COLUMNS);
    OK(norn_send(world, &from, right, 3, NULL, &bare));
    OK(norn_recv(world, &to, left, 3, NULL, NULL));
    OK(norn_await(rt, bare, -1));
    OK(norn_await(rt, copy(y, down, ROWS * COLUMNS), -1));
    for (uint64_t i = 0; i < ROWS * COLUMNS; i++) CHECK(end[i] == (uint64_t)left * 10000 + i);
}

static int32_t fails(norn_self *self, void *arg) {
    (void)arg;
    return norn_self_fail(self, 7, "as asked");
}

/* What fails in front of a staged message fails both sides, and the next one is whole. */
static void failures(void) {
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    norn_data x = on_device(COUNT), y = on_device(COUNT);
    norn_slice from = norn_slice_of(x, NORN_U64, COUNT), to = norn_slice_of(y, NORN_U64, COUNT);
    norn_access access = norn_write(x);
    norn_task task = NORN_TASK_INIT;
    norn_token sent, received;
    task.run = fails;
    task.accesses = &access;
    task.access_count = 1;
    OK(norn_submit(rt, &task, NULL));
    OK(norn_send(world, &from, right, 4, NULL, &sent));
    OK(norn_recv(world, &to, left, 4, NULL, &received));
    CHECK(norn_await(rt, sent, -1) == NORN_E_PROPAGATED);
    CHECK(norn_await(rt, received, -1) == NORN_E_PROPAGATED);
    uint64_t one = 1;
    OK(norn_fill(rt, &from, &one, NULL, NULL));
    OK(norn_send(world, &from, right, 4, NULL, &sent));
    OK(norn_recv(world, &to, left, 4, NULL, &received));
    OK(norn_await(rt, sent, -1));
    OK(norn_await(rt, received, -1));
    /* What comes too late for the copy is refused. */
    if (by_mpi) return;
    norn_task how = NORN_TASK_INIT;
    OK(norn_declare(rt, "later", &how.as));
    CHECK(norn_send(world, &from, right, 5, &how, NULL) == NORN_E_STATE);
    CHECK(norn_cancel(rt, how.as) == NORN_OK);
}

static uint64_t resident(void) {
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%*s %llu", &pages) == 1);
    fclose(file);
    return pages * 4096;
}

/* So many staged edges of up to 1 MiB keep pinned memory below the ceiling, and the process where it was after a quarter of them (L3). */
static void many(int edges) {
    enum { MOST = 1 << 17 };
    norn_device_info before = NORN_DEVICE_INFO_INIT, after = NORN_DEVICE_INFO_INIT;
    norn_data x = on_device(MOST), y = on_device(MOST);
    uint64_t resident_before = 0, drawn = 2463534242u; /* the same on all ranks */
    for (int i = 0; i < edges; i++) {
        drawn ^= drawn << 13;
        drawn ^= drawn >> 7;
        drawn ^= drawn << 17;
        norn_slice from = norn_slice_of(x, NORN_U64, drawn % MOST), to = norn_slice_of(y, NORN_U64, drawn % MOST);
        norn_token sent, received;
        OK(norn_send(world, &from, (rank + 1) % size, 6, NULL, &sent));
        OK(norn_recv(world, &to, (rank + size - 1) % size, 6, NULL, &received));
        OK(norn_await(rt, received, -1));
        OK(norn_await(rt, sent, -1)); /* more at once would go beyond the ceiling */
        if (i == edges / 4) {
            OK(norn_drain(rt, -1));
            OK(norn_device_get(rt, device, &before));
            resident_before = resident();
        }
    }
    OK(norn_drain(rt, -1));
    OK(norn_device_get(rt, device, &after));
    if (rank == 0)
        printf("%d staged edges: pinned %llu and %llu KiB, resident %llu and %llu KiB\n", edges,
               (unsigned long long)before.pinned_bytes >> 10, (unsigned long long)after.pinned_bytes >> 10,
               (unsigned long long)resident_before >> 10, (unsigned long long)resident() >> 10);
    CHECK(before.pinned_bytes <= CEILING && after.pinned_bytes <= CEILING);
    CHECK(resident() <= resident_before + (16 << 20));
    OK(norn_data_unregister(rt, x));
    OK(norn_data_unregister(rt, y));
}

/* A receive that is refused has taken nothing: the next one gets the message. */
static void refused_receive(void) {
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    uint64_t *end;
    norn_data x = on_device(COUNT), y = on_device(COUNT), down = pinned(COUNT, &end);
    norn_slice from = norn_slice_of(x, NORN_U64, COUNT), to = norn_slice_of(y, NORN_U64, COUNT);
    norn_data none = {12345};
    norn_access wrong = norn_read(none);
    norn_task how = NORN_TASK_INIT;
    uint64_t value = 40 + (uint64_t)rank;
    how.accesses = &wrong;
    how.access_count = 1;
    for (int keyed = 0; keyed < 2; keyed++) {
        const int64_t key = keyed ? 9 : NORN_KEY_ORDER;
        CHECK(norn_recv(world, &to, left, key, &how, NULL) == NORN_E_INVALID);
        OK(norn_fill(rt, &from, &value, NULL, NULL));
        OK(norn_send(world, &from, right, key, NULL, NULL));
        OK(norn_recv(world, &to, left, key, NULL, NULL));
        OK(norn_await(rt, copy(y, down, COUNT), -1));
        for (uint64_t i = 0; i < COUNT; i++) CHECK(end[i] == 40 + (uint64_t)left);
    }
    OK(norn_drain(rt, -1));
    OK(norn_data_unregister(rt, x));
    OK(norn_data_unregister(rt, y));
    OK(norn_data_unregister(rt, down));
}

/* Every rank closes while a kernel runs whose result is still to be sent: nobody gives the message up. */
static void close_over_a_kernel(void) {
    uint64_t one = 1, got[COUNT] = {0};
    const norn_data x = on_device(COUNT);
    const norn_slice from = norn_slice_of(x, NORN_U64, COUNT), to = norn_slice_at(got, NORN_U64, COUNT);
    OK(norn_fill(rt, &from, &one, NULL, NULL));
    spin_on(x, 500000000);
    OK(norn_send(world, &from, (rank + 1) % size, 9, NULL, NULL));
    OK(norn_recv(world, &to, (rank + size - 1) % size, 9, NULL, NULL));
    OK(norn_close(rt));
    for (int i = 0; i < COUNT; i++) CHECK(got[i] == 1);
}

/* Opens all that the tests use. False: there is no device. */
static int open_all(const char *kernels, uint64_t most_pinned) {
    static char text[1 << 20];
    norn_module module;
    norn_config config = NORN_CONFIG_INIT;
    config.workers = 1;
    config.max_pinned_bytes = most_pinned;
    config.log = sink;
    OK(norn_open(&config, &rt));
    if (norn_device_open(rt, NULL, &device) != NORN_OK) return 0;
    FILE *file = fopen(kernels, "rb");
    CHECK(file != NULL);
    const size_t bytes = fread(text, 1, sizeof text, file);
    fclose(file);
    OK(norn_module_load(rt, device, text, bytes, NULL, &module));
    OK(norn_kernel_get(rt, module, "mix_u64", &mix));
    OK(norn_kernel_get(rt, module, "spin_ns", &spin));
    OK(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world));
    return 1;
}

int main(int argc, char **argv) {
    const char *kernels = argc > 1 ? argv[1] : "kernels.ptx";
    const uint64_t rounds = argc > 3 ? (uint64_t)atoi(argv[3]) : 40;
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!open_all(kernels, CEILING)) {
        if (rank == 0) printf("left out: %s\n", norn_last_error());
        MPI_Finalize();
        return 77;
    }
    norn_world_info info = NORN_WORLD_INFO_INIT;
    OK(norn_world_get(world, &info));
    by_mpi = info.device_aware;
    no_old_values(rounds, COUNT, 1500000);
    managed();
    parts();
    failures();
    refused_receive();
    many(argc > 2 ? atoi(argv[2]) : 400);
    CHECK(atomic_load(&said_staged) == !by_mpi);
    norn_data large = on_device(1 << 20), received = on_device(1 << 20);
    norn_slice whole = norn_slice_of(large, NORN_U64, 1 << 20), room = norn_slice_of(received, NORN_U64, 1 << 20);
    const norn_status sent = norn_send(world, &whole, (rank + 1) % size, 7, NULL, NULL);
    if (by_mpi) {
        /* No pinned memory is used. */
        OK(sent);
        OK(norn_recv(world, &room, (rank + size - 1) % size, 7, NULL, NULL));
    } else {
        /* More than the ceiling is an error with the numbers, before anything was sent. */
        CHECK(sent == NORN_E_RESOURCE);
        CHECK(strstr(norn_last_error(), "max_pinned_bytes") != NULL);
    }
    OK(norn_drain(rt, -1));
    OK(norn_world_detach(world, -1));
    const norn_status closed = norn_close(rt);
    CHECK(closed == NORN_OK || closed == NORN_E_TASK_FAILED);
    if (rounds > 40) {
        CHECK(open_all(kernels, 0));
        no_old_values(rounds, COUNT, 200000000);
        no_old_values(rounds, 8 << 20, 200000000);
        OK(norn_close(rt));
    }
    CHECK(open_all(kernels, 0));
    close_over_a_kernel();
    MPI_Finalize();
    if (rank == 0) printf("device edges%s: right on %d ranks\n", by_mpi ? ", by MPI itself" : "", size);
    return 0;
}
