/*
 * What norn adds to the driver: the same patterns of empty kernels by the driver alone and by norn, in one run.
 *
 *   device [OPERATIONS] [WORKERS]     20000 and 2 by default
 *
 * Needs no CUDA header: it finds the driver as norn does. `benches/device/build.sh PREFIX` builds it; with libnorn.so beside
 * it it runs on any machine with a driver.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#include "driver.h"

#include <semaphore.h>

#define DATA 64
#define STREAMS 32

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry noop()\n{\nret;\n}\n"
                          ".visible .entry spin_ns(.param .u64 ns)\n{\n.reg .u64 %start, %now, %ns, %past;\n.reg .pred %on;\n"
                          "ld.param.u64 %ns, [ns];\nmov.u64 %start, %globaltimer;\n"
                          "again:\nmov.u64 %now, %globaltimer;\nsub.u64 %past, %now, %start;\n"
                          "setp.lt.u64 %on, %past, %ns;\n@%on bra again;\nret;\n}\n";

/* ----- the driver ----- */

static void *noop, *spin, *streams[STREAMS], *events[STREAMS];

static void raw_launch(void *stream) {
    DO(cu.launch(noop, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}
static void raw_finish(void) {
    for (int i = 0; i < STREAMS; i++) DO(cu.stream_synchronize(streams[i]));
}

/* The floors: launches alone on rotating streams, with a record behind each, with a wait for the one before as well. */
static double floor_us(int kind, int operations) {
    double start = now_us();
    for (int i = 0; i < operations; i++) {
        void *stream = streams[i % STREAMS], *event = events[i % STREAMS];
        if (kind == 2 && i > 0) DO(cu.wait_event(stream, events[(i - 1) % STREAMS], 0));
        raw_launch(stream);
        if (kind >= 1) DO(cu.event_record(event, stream));
    }
    raw_finish();
    return (now_us() - start) / operations;
}

/* One operation of a pattern as it is captured: on a stream that rotates, behind the events of what it follows. */
static void *done[2][DATA]; /* the event behind the last operation of a datum */

static void capture_operation(int i, void *own, void *const *after, int count) {
    void *stream = streams[i % STREAMS];
    for (int k = 0; k < count; k++) DO(cu.wait_event(stream, after[k], 0));
    raw_launch(stream);
    DO(cu.event_record(own, stream));
}
static void capture_independent(int i) {
    void *own = done[0][i % DATA];
    capture_operation(i, own, &own, i >= DATA);
}
static void capture_chain(int i) {
    capture_operation(i, done[0][0], &done[0][0], i > 0);
}
static void capture_stencil(int i) {
    int step = i / DATA, x = i % DATA;
    void **from = done[step % 2], **to = done[(step + 1) % 2];
    void *after[3] = {from[x], from[(x + 1) % DATA], from[(x + DATA - 1) % DATA]};
    capture_operation(i, to[x], after, step > 0 ? 3 : 0);
}

/*
 * The same pattern as one graph of the driver's: captured once, then replayed. What a graph costs that never changes; the
 * pattern must be known beforehand, and what is captured is in its time apart.
 */
static void replay(const char *name, void (*capture)(int), int operations) {
    void *graph, *executable;
    double start = now_us(), best = 1e9;
    DO(cu.begin_capture(streams[0], 2));
    DO(cu.event_record(events[0], streams[0]));
    for (int i = 1; i < STREAMS; i++) DO(cu.wait_event(streams[i], events[0], 0));
    for (int i = 0; i < operations; i++) capture(i);
    for (int i = 1; i < STREAMS; i++) {
        DO(cu.event_record(events[i], streams[i]));
        DO(cu.wait_event(streams[0], events[i], 0));
    }
    DO(cu.end_capture(streams[0], &graph));
    DO(cu.instantiate(&executable, graph, 0));
    double made = (now_us() - start) / operations;
    for (int round = 0; round < 5; round++) {
        start = now_us();
        DO(cu.graph_launch(executable, streams[0]));
        DO(cu.stream_synchronize(streams[0]));
        double took = (now_us() - start) / operations;
        if (took < best) best = took;
    }
    printf("graph %-24s %8.2f replayed, and once %.2f to capture and instantiate\n", name, best, made);
    DO(cu.executable_destroy(executable));
    DO(cu.graph_destroy(graph));
}

/* ----- norn ----- */

static norn_runtime *rt;
static norn_place place;
static norn_kernel noop_kernel, spin_kernel;
static norn_data data[2][DATA];

static void submit(const norn_access *accesses, uint64_t count, norn_token *token) {
    norn_launch_desc launch = NORN_LAUNCH_INIT;
    norn_task how = NORN_TASK_INIT;
    launch.kernel = noop_kernel;
    launch.block[0] = 32;
    how.accesses = accesses;
    how.access_count = count;
    DO(norn_launch(rt, &launch, &how, token));
}

typedef struct times {
    double submitted, total;
} times;

static times independent(int operations) {
    double start = now_us();
    for (int i = 0; i < operations; i++) {
        norn_access access = norn_update(data[0][i % DATA]);
        submit(&access, 1, NULL);
    }
    double submitted = now_us();
    DO(norn_drain(rt, -1));
    return (times){(submitted - start) / operations, (now_us() - start) / operations};
}
static times chain(int operations) {
    double start = now_us();
    for (int i = 0; i < operations; i++) {
        norn_access access = norn_update(data[0][0]);
        submit(&access, 1, NULL);
    }
    double submitted = now_us();
    DO(norn_drain(rt, -1));
    return (times){(submitted - start) / operations, (now_us() - start) / operations};
}
static times stencil(int operations) {
    double start = now_us();
    for (int i = 0; i < operations; i++) {
        int step = i / DATA, x = i % DATA;
        norn_data *from = data[step % 2], *to = data[(step + 1) % 2];
        norn_access accesses[4] = {norn_write(to[x]), norn_read(from[x]), norn_read(from[(x + 1) % DATA]),
                                   norn_read(from[(x + DATA - 1) % DATA])};
        submit(accesses, 4, NULL);
    }
    double submitted = now_us();
    DO(norn_drain(rt, -1));
    return (times){(submitted - start) / operations, (now_us() - start) / operations};
}

static void post_semaphore(void *semaphore) {
    sem_post(semaphore);
}

/* From a kernel of `ns` to the host that has seen it complete: by event queries, by a host function that posts a
 * semaphore, and by an await. Medians. */
static void wake_up(uint64_t ns, int rounds) {
    double raw[101], posted[101], awaited[101], cpu[101];
    sem_t semaphore;
    void *arguments[1] = {&ns};
    for (int i = 0; i < rounds; i++) {
        double start = now_us();
        DO(cu.launch(spin, 1, 1, 1, 1, 1, 1, 0, streams[0], arguments, NULL));
        DO(cu.event_record(events[0], streams[0]));
        while (cu.event_query(events[0]) != 0) {}
        raw[i] = now_us() - start;
    }
    sem_init(&semaphore, 0, 0);
    for (int i = 0; i < rounds; i++) {
        double start = now_us();
        DO(cu.launch(spin, 1, 1, 1, 1, 1, 1, 0, streams[0], arguments, NULL));
        DO(cu.host_function(streams[0], post_semaphore, &semaphore));
        while (sem_wait(&semaphore) != 0) {}
        posted[i] = now_us() - start;
    }
    sem_destroy(&semaphore);
    for (int i = 0; i < rounds; i++) {
        norn_launch_desc launch = NORN_LAUNCH_INIT;
        norn_argument argument = norn_value(&ns, sizeof ns);
        norn_token token;
        launch.kernel = spin_kernel;
        launch.arguments = &argument;
        launch.argument_count = 1;
        double start = now_us(), used = cpu_us();
        DO(norn_launch(rt, &launch, NULL, &token));
        DO(norn_await(rt, token, -1));
        awaited[i] = now_us() - start;
        cpu[i] = cpu_us() - used;
    }
    printf("kernel of %10.1f us: event query %10.1f us, host function %10.1f us, norn await %10.1f us, processor time of norn "
           "%8.1f us\n",
           (double)ns * 1e-3, median(raw, rounds), median(posted, rounds), median(awaited, rounds), median(cpu, rounds));
}

int main(int argc, char **argv) {
    int operations = argc > 1 ? number(argv[1]) : 20000;
    norn_config config = NORN_CONFIG_INIT;
    norn_module module;
    config.workers = argc > 2 ? number(argv[2]) : 2;
    DO(norn_open(&config, &rt));
    norn_device_info info = open_device(rt, STREAMS, &place);
    printf("%s, %d operations, %d workers, %d streams\n", info.name, operations, config.workers, STREAMS);
    DO(norn_module_load(rt, place, ptx, sizeof ptx - 1, NULL, &module));
    DO(norn_kernel_get(rt, module, "noop", &noop_kernel));
    DO(norn_kernel_get(rt, module, "spin_ns", &spin_kernel));
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < DATA; i++) {
            norn_data_desc desc = NORN_DATA_DESC_INIT; /* names to order by: the kernels touch nothing */
            DO(norn_data_register(rt, &desc, &data[side][i]));
        }

    void *loaded;
    driver_start(info.ordinal);
    DO(cu.load(&loaded, ptx));
    DO(cu.function(&noop, loaded, "noop"));
    DO(cu.function(&spin, loaded, "spin_ns"));
    for (int i = 0; i < STREAMS; i++) {
        DO(cu.stream_create(&streams[i], 1));
        DO(cu.event_create(&events[i], 2));
    }

    static const char *const floors[3] = {"launch", "launch + record", "wait + launch + record"};
    static const char *const patterns[3] = {"independent over 64", "chain on one", "stencil 64 x 3"};
    times (*const run[3])(int) = {independent, chain, stencil};
    static const int matching[3] = {1, 1, 2}; /* the floor that does what the pattern needs */
    double best_floor[3] = {1e9, 1e9, 1e9};
    times best[3] = {{1e9, 1e9}, {1e9, 1e9}, {1e9, 1e9}};
    for (int round = 0; round < 5; round++)
        for (int k = 0; k < 3; k++) {
            double took = floor_us(k, operations);
            if (took < best_floor[k]) best_floor[k] = took;
            times t = run[k](operations);
            if (t.total < best[k].total) best[k].total = t.total;
            if (t.submitted < best[k].submitted) best[k].submitted = t.submitted;
        }
    printf("microseconds an operation, the best of 5 rounds\n");
    for (int k = 0; k < 3; k++) printf("floor %-24s %8.2f\n", floors[k], best_floor[k]);
    for (int k = 0; k < 3; k++)
        printf("norn  %-24s %8.2f  (%.2f times its floor, \"%s\"), of this the submitting thread %.2f\n", patterns[k],
               best[k].total, best[k].total / best_floor[matching[k]], floors[matching[k]], best[k].submitted);
    if (cu.graph_launch == NULL) printf("graph replay left out: this driver has no graphs\n");
    else {
        void (*const capture[3])(int) = {capture_independent, capture_chain, capture_stencil};
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < DATA; i++) DO(cu.event_create(&done[side][i], 2));
        for (int k = 0; k < 3; k++) replay(patterns[k], capture[k], operations);
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < DATA; i++) DO(cu.event_destroy(done[side][i]));
    }
    DO(norn_device_get(rt, place, &info));
    printf("norn issued %llu operations and %llu waits between streams\n", (unsigned long long)info.issued,
           (unsigned long long)info.waits);
    wake_up(0, 101);
    wake_up(20000, 101);
    wake_up(200000, 51);
    wake_up(1000000000, 3);

    for (int i = 0; i < STREAMS; i++) {
        DO(cu.stream_destroy(streams[i]));
        DO(cu.event_destroy(events[i]));
    }
    DO(cu.unload(loaded));
    driver_end(info.ordinal);
    DO(norn_close(rt));
    return 0;
}
