/*
 * Streams: order within one, freedom between two, the two default streams, host functions and values.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#include "case.h"

enum { n = 4096 };

static uint64_t mixed(uint64_t x, uint64_t key, uint64_t i) { return (x ^ key) * 6364136223846793005ULL + i; }

static void one_runs_in_order(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUstream stream = new_stream();
    CUdeviceptr x = device_memory(n * 8);
    uint64_t *host = pinned_memory(n * 8);
    OK(launch_fill(module, stream, x, n, 1));
    for (uint64_t key = 0; key < 50; ++key) OK(launch_mix(module, stream, x, n, key));
    OK(cuMemcpyDtoHAsync_v2(host, x, n * 8, stream));
    OK(cuStreamSynchronize(stream));
    for (uint64_t i = 0; i < n; ++i) {
        uint64_t value = 1;
        for (uint64_t key = 0; key < 50; ++key) value = mixed(value, key, i);
        CHECK(host[i] == value);
    }
    OK(cuMemFree_v2(x));
    OK(cuMemFreeHost(host));
    OK(cuModuleUnload(module));
    end_stream(stream);
    leave(0);
}

static void query_tells_pending(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUstream stream = new_stream();
    OK(cuStreamQuery(stream));
    OK(launch_spin(module, stream, 100000000));
    RESULT(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    OK(cuStreamSynchronize(stream));
    OK(cuStreamQuery(stream));
    OK(cuModuleUnload(module));
    end_stream(stream);
    leave(0);
}

/* A kernel waits for a flag that a later operation of another stream sets: no stream holds up another. */
static void two_run_at_once(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUstream waits = new_stream(), sets = new_stream();
    CUdeviceptr flag = device_memory(4);
    uint32_t value = 7;
    void *arguments[] = {&flag, &value};
    OK(cuMemsetD32_v2(flag, 0, 1));
    OK(cuCtxSynchronize());
    OK(cuLaunchKernel(kernel_of(module, "spin_until_u32"), 1, 1, 1, 1, 1, 1, 0, waits, arguments, NULL));
    OK(cuStreamWriteValue32_v2(sets, flag, 7, 0));
    OK(cuStreamSynchronize(waits));
    end_stream(waits);
    end_stream(sets);
    OK(cuMemFree_v2(flag));
    OK(cuModuleUnload(module));
    leave(0);
}

static void many_run_at_once(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUstream streams[32], last = new_stream();
    CUdeviceptr flag = device_memory(4);
    uint32_t value = 1;
    void *arguments[] = {&flag, &value};
    OK(cuMemsetD32_v2(flag, 0, 1));
    OK(cuCtxSynchronize());
    for (int i = 0; i < 32; ++i) {
        streams[i] = new_stream();
        OK(cuLaunchKernel(kernel_of(module, "spin_until_u32"), 1, 1, 1, 1, 1, 1, 0, streams[i], arguments, NULL));
    }
    OK(cuStreamWriteValue32_v2(last, flag, 1, 0));
    for (int i = 0; i < 32; ++i) end_stream(streams[i]);
    end_stream(last);
    OK(cuMemFree_v2(flag));
    OK(cuModuleUnload(module));
    leave(0);
}

/* Work of a blocking stream waits for earlier work of the legacy default stream, and the other way round. */
static void legacy_stream_orders_blocking_ones(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUstream blocking, free_one = new_stream();
    CUdeviceptr x = device_memory(n * 8);
    uint64_t *host = pinned_memory(n * 8);
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(launch_spin(module, blocking, 20000000));
    OK(launch_fill(module, blocking, x, n, 5));
    OK(launch_mix(module, NULL, x, n, 6));
    OK(launch_mix(module, blocking, x, n, 7));
    OK(launch_mix(module, CU_STREAM_LEGACY, x, n, 8));
    OK(cuMemcpyDtoH_v2(host, x, n * 8));
    for (uint64_t i = 0; i < n; ++i) CHECK(host[i] == mixed(mixed(mixed(5, 6, i), 7, i), 8, i));
    /* And one that is not blocking is not held up. */
    OK(launch_spin(module, NULL, 200000000));
    OK(cuStreamQuery(free_one));
    OK(launch_spin(module, free_one, 1));
    OK(cuStreamSynchronize(free_one));
    RESULT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    OK(cuMemFreeHost(host));
    OK(cuModuleUnload(module));
    end_stream(blocking);
    end_stream(free_one);
    leave(0);
}

struct own {
    CUcontext context;
    CUmodule module;
    unsigned long long id;
};
static void *use_own_default(void *arg) {
    struct own *own = arg;
    OK(cuCtxSetCurrent(own->context));
    OK(cuStreamGetId(CU_STREAM_PER_THREAD, &own->id));
    OK(launch_spin(own->module, CU_STREAM_PER_THREAD, 1000));
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    return NULL;
}

static void each_thread_has_its_default_stream(void) {
    CUcontext context = enter(0);
    CUmodule module = load_kernels();
    struct own mine = {context, module, 0}, theirs = {context, module, 0};
    pthread_t thread;
    use_own_default(&mine);
    CHECK(pthread_create(&thread, NULL, use_own_default, &theirs) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(mine.id != theirs.id);
    OK(cuModuleUnload(module));
    leave(0);
}

struct noted {
    int at;
    int order[16];
    pthread_t threads[16];
};
struct note {
    struct noted *all;
    int number;
};
static void note(void *arg) {
    struct note *mine = arg;
    sleep_ms(1);
    mine->all->threads[mine->all->at] = pthread_self();
    mine->all->order[mine->all->at++] = mine->number;
}

static void host_functions_run_in_order_elsewhere(void) {
    enter(0);
    CUstream stream = new_stream();
    struct noted all = {0};
    struct note notes[16];
    for (int i = 0; i < 16; ++i) {
        notes[i].all = &all;
        notes[i].number = i;
        OK(cuLaunchHostFunc(stream, note, &notes[i]));
    }
    OK(cuStreamSynchronize(stream));
    EQUAL(all.at, 16);
    for (int i = 0; i < 16; ++i) {
        EQUAL(all.order[i], i);
        CHECK(!pthread_equal(all.threads[i], pthread_self()));
    }
    end_stream(stream);
    leave(0);
}

static void callback_gets_its_stream(CUstream stream, CUresult status, void *arg) {
    CHECK(status == CUDA_SUCCESS);
    *(CUstream *)arg = stream;
}
static void callbacks_too(void) {
    enter(0);
    CUstream stream = new_stream(), seen = NULL;
    OK(cuStreamAddCallback(stream, callback_gets_its_stream, &seen, 0));
    OK(cuStreamSynchronize(stream));
    CHECK(seen == stream);
    end_stream(stream);
    leave(0);
}

/* The host sets what a stream waits for; the stream sets what the host waits for. */
static void values_go_both_ways(void) {
    enter(0);
    CUstream stream = new_stream();
    volatile uint32_t *flags = pinned_memory(64);
    CUdeviceptr device;
    OK(cuMemHostGetDevicePointer_v2(&device, (void *)(uintptr_t)flags, 0));
    __atomic_store_n(&flags[0], 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&flags[1], 0, __ATOMIC_SEQ_CST);
    OK(cuStreamWaitValue32_v2(stream, device, 3, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuStreamWriteValue32_v2(stream, device + 4, 9, 0));
    sleep_ms(5);
    RESULT(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    EQUAL(__atomic_load_n(&flags[1], __ATOMIC_SEQ_CST), 0);
    __atomic_store_n(&flags[0], 3, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&flags[1], __ATOMIC_SEQ_CST) != 9) sleep_ms(1);
    end_stream(stream);
    OK(cuMemFreeHost((void *)(uintptr_t)flags));
    leave(0);
}

static void they_tell_what_they_are(void) {
    CUcontext context = enter(0), found;
    CUstream stream;
    unsigned flags = 99;
    int least, greatest, priority = 99, capturing = 99;
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    CHECK(least >= greatest);
    OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, greatest));
    OK(cuStreamGetCtx(stream, &found));
    CHECK(found == context);
    OK(cuStreamGetFlags(stream, &flags));
    EQUAL(flags, CU_STREAM_NON_BLOCKING);
    OK(cuStreamGetPriority(stream, &priority));
    EQUAL(priority, greatest);
    OK(cuStreamIsCapturing(stream, &capturing));
    EQUAL(capturing, CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuStreamDestroy_v2(stream));
    RESULT(cuStreamCreate(&stream, 2), CUDA_ERROR_INVALID_VALUE);
    leave(0);
}

static void a_hold_stops_all_work(void) {
    enter(0);
    CUstream stream = new_stream();
    CUdeviceptr x = device_memory(4);
    uint32_t *host = pinned_memory(4);
    *host = 1;
    STANDIN(standin_hold)(1);
    OK(cuMemsetD32Async(x, 2, 1, stream));
    OK(cuMemcpyDtoHAsync_v2(host, x, 4, stream));
    sleep_ms(10);
    RESULT(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    EQUAL(*host, 1);
    EQUAL(STANDIN(standin_live)("pending"), 2);
    STANDIN(standin_let_through)(1);
    while (STANDIN(standin_live)("pending") != 1) sleep_ms(1);
    RESULT(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    STANDIN(standin_hold)(0);
    OK(cuStreamSynchronize(stream));
    EQUAL(*host, 2);
    OK(cuMemFree_v2(x));
    OK(cuMemFreeHost(host));
    end_stream(stream);
    leave(0);
}

/* 15 000 operations over 16 streams that wait for each other at random, against the same by hand. */
static void random_graph_is_right(void) {
    enum { data = 24, wide = 64, steps = 15000, lanes = 16 };
    static uint64_t expected[data][wide], got[data][wide];
    CUevent last[data];
    CUstream streams[lanes];
    unsigned random = 12345;
    enter(0);
    CUmodule module = load_kernels();
    CUfunction mix = kernel_of(module, "mix_u64"), combine = kernel_of(module, "combine_u64");
    CUdeviceptr x[data];
    for (int i = 0; i < lanes; ++i) streams[i] = new_stream();
    for (int i = 0; i < data; ++i) {
        x[i] = device_memory(sizeof expected[i]);
        last[i] = new_event();
        OK(launch_fill(module, streams[0], x[i], wide, 0));
        OK(cuEventRecord(last[i], streams[0]));
    }
    OK(cuStreamSynchronize(streams[0]));
    for (int step = 0; step < steps; ++step) {
        random = random * 1664525 + 1013904223;
        const int lane = (int)(random >> 8) % lanes, a = (int)(random >> 16) % data, b = (int)(random >> 21) % data;
        uint64_t key = (uint64_t)step, count = wide;
        OK(cuStreamWaitEvent(streams[lane], last[a], 0));
        if (a == b) {
            void *arguments[] = {&x[a], &count, &key};
            OK(launch(mix, streams[lane], arguments));
            for (uint64_t i = 0; i < wide; ++i) expected[a][i] = mixed(expected[a][i], key, i);
        } else {
            void *arguments[] = {&x[a], &x[b], &count, &key};
            OK(cuStreamWaitEvent(streams[lane], last[b], 0));
            OK(launch(combine, streams[lane], arguments));
            for (uint64_t i = 0; i < wide; ++i) expected[a][i] = (expected[a][i] ^ key) * 6364136223846793005ULL + expected[b][i];
        }
        /* A recording of its own for each; the reader's orders a later writer of b, too. */
        OK(cuEventDestroy_v2(last[a]));
        last[a] = new_event();
        OK(cuEventRecord(last[a], streams[lane]));
        if (a != b) {
            OK(cuEventDestroy_v2(last[b]));
            last[b] = new_event();
            OK(cuEventRecord(last[b], streams[lane]));
        }
        if (step % 1000 == 999) OK(cuCtxSynchronize());
    }
    OK(cuCtxSynchronize());
    for (int i = 0; i < data; ++i) {
        OK(cuMemcpyDtoH_v2(got[i], x[i], sizeof got[i]));
        CHECK(memcmp(got[i], expected[i], sizeof got[i]) == 0);
        OK(cuMemFree_v2(x[i]));
        OK(cuEventDestroy_v2(last[i]));
    }
    for (int i = 0; i < lanes; ++i) end_stream(streams[i]);
    OK(cuModuleUnload(module));
    leave(0);
}

/* Threads that queue on streams of their own, all at once. */
static void *queue_and_check(void *arg) {
    CUcontext context = *(CUcontext *)arg;
    OK(cuCtxSetCurrent(context));
    CUmodule module = load_kernels();
    CUstream stream = new_stream();
    CUevent event = new_event();
    CUdeviceptr x = device_memory(n * 8);
    uint64_t *host = pinned_memory(n * 8);
    for (int round = 0; round < 50; ++round) {
        OK(launch_fill(module, stream, x, n, (uint64_t)round));
        OK(launch_mix(module, stream, x, n, 3));
        OK(cuMemcpyDtoHAsync_v2(host, x, n * 8, stream));
        OK(cuEventRecord(event, stream));
        CUresult ready;
        while ((ready = cuEventQuery(event)) == CUDA_ERROR_NOT_READY) sched_yield();
        OK(ready);
        for (uint64_t i = 0; i < n; ++i) CHECK(host[i] == mixed((uint64_t)round, 3, i));
    }
    OK(cuMemFree_v2(x));
    OK(cuMemFreeHost(host));
    OK(cuEventDestroy_v2(event));
    end_stream(stream);
    OK(cuModuleUnload(module));
    OK(cuCtxSetCurrent(NULL));
    return NULL;
}
static void threads_queue_at_once(void) {
    CUcontext context = enter(0);
    pthread_t threads[8];
    for (int i = 0; i < 8; ++i) CHECK(pthread_create(&threads[i], NULL, queue_and_check, &context) == 0);
    for (int i = 0; i < 8; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
    leave(0);
}

CASES(CASE(one_runs_in_order), CASE(query_tells_pending), CASE(two_run_at_once), CASE(many_run_at_once),
      CASE(legacy_stream_orders_blocking_ones), CASE(each_thread_has_its_default_stream),
      CASE(host_functions_run_in_order_elsewhere), CASE(callbacks_too), CASE(values_go_both_ways), CASE(they_tell_what_they_are),
      OWN(a_hold_stops_all_work), CASE(random_graph_is_right), CASE(threads_queue_at_once))
