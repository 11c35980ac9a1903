/*
 * The checker: each rule finds the misuse planted for it, whatever the delays, and nothing in the right use beside it.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#include "case.h"

#include <signal.h>
#include <sys/mman.h>

enum { n = 512 };

/* Two streams, an event, memory and kernels, with the checker counting. */
static CUcontext context;
static CUmodule module;
static CUstream first, second;
static CUevent event;
static CUdeviceptr x, y;
static uint64_t *pinned;

static void begin(void) {
    context = enter(0);
    count_only();
    module = load_kernels();
    first = new_stream();
    second = new_stream();
    event = new_event();
    x = device_memory(n * 8);
    y = device_memory(n * 8);
    pinned = pinned_memory(n * 8);
    memset(pinned, 0, n * 8);
}
static void end(void) {
    OK(cuCtxSynchronize());
    OK(cuMemFreeHost(pinned));
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
    OK(cuModuleUnload(module));
    leave(0);
}
#define ENDS_WITH(rule, times) \
    do {                       \
        end();                 \
        FOUND(rule, times);    \
    } while (0)
#define ENDS_CLEAN()     \
    do {                 \
        end();           \
        FOUND_NOTHING(); \
    } while (0)

/* ---- Events ---- */

static void wait_for_an_event_never_recorded(void) {
    begin();
    OK(cuStreamWaitEvent(first, event, 0));
    ENDS_WITH("event-not-recorded", 1);
}
static void query_of_an_event_never_recorded(void) {
    begin();
    OK(cuEventQuery(event));
    OK(cuEventSynchronize(event));
    ENDS_WITH("event-not-recorded", 2);
}
/* Recorded after the wait is too late. */
static void event_recorded_late(void) {
    begin();
    OK(launch_fill(module, first, x, n, 1));
    OK(cuStreamWaitEvent(second, event, 0));
    OK(cuEventRecord(event, first));
    ENDS_WITH("event-not-recorded", 1);
}
static void event_reused_too_early(void) {
    begin();
    OK(launch_fill(module, first, x, n, 1));
    OK(cuEventRecord(event, first));
    OK(launch_fill(module, second, y, n, 1));
    OK(cuEventRecord(event, second));
    ENDS_WITH("event-reused", 1);
}
/* By luck all was done; nobody had looked. */
static void event_reused_unseen(void) {
    begin();
    OK(launch_fill(module, first, x, n, 1));
    OK(cuEventRecord(event, first));
    while (STANDIN(standin_live)("pending") != 0) sleep_ms(1);
    OK(cuEventRecord(event, second));
    ENDS_WITH("event-reused", 1);
}
static void event_reused_when_seen(void) {
    begin();
    for (int i = 0; i < 10; ++i) {
        OK(launch_fill(module, first, x, n, 1));
        OK(cuEventRecord(event, first));
        while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) sleep_ms(1);
    }
    ENDS_CLEAN();
}
/* What comes after it was seen, so it is too. */
static void event_seen_through_a_later_one(void) {
    begin();
    CUevent later = new_event();
    OK(launch_fill(module, first, x, n, 1));
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    OK(cuEventRecord(later, second));
    OK(cuEventSynchronize(later));
    OK(cuEventRecord(event, second));
    OK(cuEventDestroy_v2(later));
    ENDS_CLEAN();
}
static void rule_can_be_turned_off(void) {
    begin();
    STANDIN(standin_allow)("event-reused", 1);
    OK(cuEventRecord(event, first));
    OK(cuEventRecord(event, first));
    ENDS_CLEAN();
}

/* ---- Order of work on the same memory ---- */

static void wait_left_out(void) {
    begin();
    OK(launch_fill(module, first, x, n, 1));
    OK(cuEventRecord(event, first));
    OK(launch_mix(module, second, x, n, 2));
    ENDS_WITH("race", 1);
}
/* Even when the first has ended long since: nobody had looked, so it was luck. */
static void wait_left_out_with_luck(void) {
    begin();
    OK(launch_fill(module, first, x, n, 1));
    while (STANDIN(standin_live)("pending") != 0) sleep_ms(1);
    OK(cuMemcpyDtoHAsync_v2(pinned, x, n * 8, second));
    ENDS_WITH("race", 1);
}
static void wait_in_place(void) {
    begin();
    OK(launch_fill(module, first, x, n, 1));
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    OK(launch_mix(module, second, x, n, 2));
    ENDS_CLEAN();
}
static void wait_by_the_host(void) {
    begin();
    OK(launch_fill(module, first, x, n, 1));
    OK(cuStreamSynchronize(first));
    OK(launch_mix(module, second, x, n, 2));
    ENDS_CLEAN();
}
static void readers_may_overlap(void) {
    begin();
    CUdeviceptr z = device_memory(n * 8);
    uint64_t count = n;
    OK(launch_fill(module, first, x, n, 1));
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    void *to_y[] = {&y, &x, &count}, *to_z[] = {&z, &x, &count};
    OK(launch(kernel_of(module, "copy_u64"), first, to_y));
    OK(launch(kernel_of(module, "copy_u64"), second, to_z));
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(z));
    ENDS_CLEAN();
}
static void writer_after_one_reader_of_two(void) {
    begin();
    OK(cuMemsetD8Async(x, 1, n * 8, first));
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    OK(cuMemcpyDtoHAsync_v2(pinned, x, 8, first));
    OK(cuMemcpyDtoHAsync_v2(pinned + 1, x, 8, second));
    OK(launch_fill(module, second, x, n, 1));
    ENDS_WITH("race", 1);
}
static void disjoint_halves_are_independent(void) {
    begin();
    OK(launch_fill(module, first, x, n / 2, 1));
    OK(launch_fill(module, second, x + n / 2 * 8, n / 2, 1));
    ENDS_CLEAN();
}
static void one_element_in_common(void) {
    begin();
    OK(launch_fill(module, first, x, n / 2 + 1, 1));
    OK(launch_fill(module, second, x + n / 2 * 8, n / 2, 1));
    ENDS_WITH("race", 1);
}
static CUDA_MEMCPY2D columns(size_t from_column, size_t width) {
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = y;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = x;
    copy.srcPitch = copy.dstPitch = 64;
    copy.srcXInBytes = copy.dstXInBytes = from_column;
    copy.WidthInBytes = width;
    copy.Height = 10;
    return copy;
}
static void columns_side_by_side_are_independent(void) {
    begin();
    CUDA_MEMCPY2D left = columns(0, 32), right = columns(32, 32);
    OK(cuMemcpy2DAsync_v2(&left, first));
    OK(cuMemcpy2DAsync_v2(&right, second));
    OK(cuMemsetD2D8Async(x + 640, 64, 1, 16, 4, first));
    OK(cuMemsetD2D8Async(x + 640 + 16, 64, 1, 48, 4, second));
    ENDS_CLEAN();
}
static void columns_that_overlap(void) {
    begin();
    CUDA_MEMCPY2D left = columns(0, 33), right = columns(32, 32);
    OK(cuMemcpy2DAsync_v2(&left, first));
    OK(cuMemcpy2DAsync_v2(&right, second));
    ENDS_WITH("race", 1);
}
/* Pinned host memory is memory too. */
static void host_side_of_copies_is_ordered_too(void) {
    begin();
    OK(cuMemcpyDtoHAsync_v2(pinned, x, 64, first));
    OK(cuMemcpyHtoDAsync_v2(y, pinned + 4, 64, second));
    ENDS_WITH("race", 1);
}
static void set_flag(void *flag) { atomic_store((atomic_int *)flag, 1); }
/* What a host function tells the host is told. */
static void told_by_a_host_function(void) {
    atomic_int flag = 0;
    begin();
    OK(launch_fill(module, first, x, n, 1));
    OK(cuLaunchHostFunc(first, set_flag, &flag));
    while (atomic_load(&flag) == 0) sleep_ms(1);
    OK(launch_mix(module, second, x, n, 2));
    ENDS_CLEAN();
}
static void told_by_a_value(void) {
    begin();
    volatile uint32_t *flag = (volatile uint32_t *)pinned;
    OK(launch_fill(module, first, x, n, 1));
    OK(cuStreamWriteValue32_v2(first, (CUdeviceptr)(uintptr_t)pinned, 5, 0));
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != 5) sleep_ms(1);
    OK(launch_mix(module, second, x, n, 2));
    ENDS_CLEAN();
}
/* Work behind a value that the host writes is ordered by the host, in ways the driver cannot know. */
static void gated_by_the_host(void) {
    begin();
    __atomic_store_n((uint32_t *)pinned, 0, __ATOMIC_RELEASE);
    OK(cuStreamWaitValue32_v2(second, (CUdeviceptr)(uintptr_t)pinned, 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(launch_mix(module, second, x, n, 2));
    OK(launch_fill(module, first, x, n, 1));
    OK(cuStreamSynchronize(first));
    __atomic_store_n((uint32_t *)pinned, 1, __ATOMIC_RELEASE);
    OK(cuStreamSynchronize(second));
    OK(launch_fill(module, first, x, n, 1));
    ENDS_CLEAN();
}
static void legacy_stream_is_an_order(void) {
    begin();
    CUstream blocking;
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(launch_fill(module, blocking, x, n, 1));
    OK(launch_mix(module, NULL, x, n, 2));
    OK(launch_mix(module, blocking, x, n, 3));
    FOUND_NOTHING();
    OK(launch_mix(module, first, x, n, 4)); /* this one does not wait for it */
    OK(cuStreamSynchronize(blocking));
    OK(cuStreamDestroy_v2(blocking));
    ENDS_WITH("race", 1);
}
static void overlapping_copy(void) {
    begin();
    OK(cuMemcpyDtoDAsync_v2(x, x + 8, 16, first));
    ENDS_WITH("race", 1);
}

/* ---- Lifetime ---- */

static void memory_freed_while_used(void) {
    begin();
    CUdeviceptr z = device_memory(n * 8);
    OK(launch_fill(module, first, z, n, 1));
    OK(cuMemFree_v2(z));
    ENDS_WITH("memory-in-use", 1);
}
static void memory_freed_when_seen(void) {
    begin();
    CUdeviceptr z = device_memory(n * 8);
    OK(launch_fill(module, first, z, n, 1));
    OK(cuStreamSynchronize(first));
    OK(cuMemFree_v2(z));
    ENDS_CLEAN();
}
static void ordered_free_too_early(void) {
    begin();
    CUdeviceptr z;
    OK(cuMemAllocAsync(&z, n * 8, first));
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    OK(launch_fill(module, second, z, n, 1));
    OK(cuMemFreeAsync(z, first)); /* does not wait for the second stream */
    ENDS_WITH("race", 1);
}
static void ordered_free_in_order(void) {
    begin();
    CUdeviceptr z;
    OK(cuMemAllocAsync(&z, n * 8, first));
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    OK(launch_fill(module, second, z, n, 1));
    OK(cuMemFreeAsync(z, second));
    ENDS_CLEAN();
}
static void used_before_the_ordered_allocation(void) {
    begin();
    CUdeviceptr z;
    OK(cuMemAllocAsync(&z, n * 8, first));
    OK(launch_fill(module, second, z, n, 1));
    OK(cuCtxSynchronize());
    OK(cuMemFreeAsync(z, first));
    ENDS_WITH("race", 1);
}
static void used_after_free(void) {
    begin();
    CUdeviceptr z = device_memory(n * 8);
    OK(cuMemFree_v2(z));
    RESULT(cuMemsetD8Async(z + 8, 0, 8, first), CUDA_ERROR_INVALID_VALUE);
    ENDS_WITH("use-after-free", 1);
}
static void used_after_ordered_free(void) {
    begin();
    CUdeviceptr z;
    OK(cuMemAllocAsync(&z, n * 8, first));
    OK(cuMemFreeAsync(z, first));
    RESULT(cuMemsetD8Async(z, 0, 8, first), CUDA_ERROR_INVALID_VALUE);
    ENDS_WITH("use-after-free", 1);
}
static void freed_twice(void) {
    begin();
    CUdeviceptr z = device_memory(n * 8);
    OK(cuMemFree_v2(z));
    RESULT(cuMemFree_v2(z), CUDA_ERROR_INVALID_VALUE);
    ENDS_WITH("double-free", 1);
}
static void pinned_memory_freed_while_used(void) {
    begin();
    void *more = pinned_memory(64);
    OK(cuMemcpyHtoDAsync_v2(x, more, 64, first));
    OK(cuMemFreeHost(more));
    ENDS_WITH("host-memory-in-use", 1);
}
static void registration_ended_while_used(void) {
    begin();
    static char memory[4096];
    OK(cuMemHostRegister_v2(memory, sizeof memory, 0));
    OK(cuMemcpyHtoDAsync_v2(x, memory, 64, first));
    OK(cuMemHostUnregister(memory));
    ENDS_WITH("host-memory-in-use", 1);
}
static void pageable_memory_expected_unused(void) {
    begin();
    char *memory = malloc(4096);
    CHECK(memory != NULL);
    memset(memory, 0, 4096);
    OK(cuMemcpyHtoDAsync_v2(x, memory + 100, 64, first));
    STANDIN(standin_expect_unused)(memory, 100);
    FOUND_NOTHING();
    STANDIN(standin_expect_unused)(memory, 4096);
    FOUND("host-memory-in-use", 1);
    OK(cuStreamSynchronize(first));
    STANDIN(standin_expect_unused)(memory, 4096);
    free(memory);
    ENDS_WITH("host-memory-in-use", 1);
}
static void pageable_memory_unmapped_while_queued(void) {
#ifdef __SANITIZE_THREAD__
    exit(77); /* there the copy is one that the sanitizer sees, and dies of it */
#endif
    begin();
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    STANDIN(standin_hold)(1);
    OK(cuMemcpyHtoDAsync_v2(x, memory, 64, first));
    munmap(memory, 4096);
    STANDIN(standin_hold)(0);
    RESULT(cuStreamSynchronize(first), CUDA_ERROR_ILLEGAL_ADDRESS);
    FOUND("host-memory-gone", 1);
}

/* ---- Streams ---- */

static void stream_destroyed_while_busy(void) {
    begin();
    CUstream stream = new_stream();
    OK(launch_spin(module, stream, 10000000));
    OK(cuStreamDestroy_v2(stream));
    ENDS_WITH("stream-destroyed-busy", 1);
}
static void stream_destroyed_when_seen(void) {
    begin();
    CUstream stream = new_stream();
    OK(launch_fill(module, stream, x, n, 1));
    OK(cuEventRecord(event, stream));
    OK(cuEventSynchronize(event));
    OK(cuStreamDestroy_v2(stream));
    ENDS_CLEAN();
}
static void stream_expected_idle(void) {
    begin();
    EQUAL(STANDIN(standin_expect_idle)(first), 1);
    OK(launch_spin(module, first, 10000000));
    EQUAL(STANDIN(standin_expect_idle)(first), 0);
    OK(cuStreamSynchronize(first));
    EQUAL(STANDIN(standin_expect_idle)(first), 1);
    ENDS_WITH("stream-busy", 1);
}
static void lease_of_a_busy_stream(void) {
    begin();
    CUevent other = new_event();
    STANDIN(standin_lease_rule)(1);
    OK(launch_fill(module, first, x, n, 1));
    OK(launch_mix(module, first, x, n, 2)); /* the same lease */
    OK(cuEventRecord(event, first));
    OK(launch_fill(module, first, y, n, 3)); /* another, too early */
    OK(cuEventRecord(other, first));
    OK(cuEventSynchronize(other));
    OK(cuEventDestroy_v2(other));
    ENDS_WITH("stream-busy", 1);
}
static void lease_of_an_idle_stream(void) {
    atomic_int flag = 0;
    begin();
    STANDIN(standin_lease_rule)(1);
    for (int i = 0; i < 5; ++i) {
        OK(launch_fill(module, first, x, n, 1));
        OK(cuEventRecord(event, first));
        if (i == 2) OK(cuLaunchHostFunc(first, set_flag, &flag)); /* armed on the leased stream: part of it */
        while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) sleep_ms(1);
    }
    OK(cuStreamSynchronize(first));
    EQUAL(atomic_load(&flag), 1);
    ENDS_CLEAN();
}
/* Work that depends on what is under way may follow it there. */
static void lease_that_follows_on(void) {
    begin();
    CUevent other = new_event();
    STANDIN(standin_lease_rule)(1);
    OK(launch_fill(module, first, x, n, 1));
    OK(cuEventRecord(event, first));
    OK(launch_mix(module, first, x, n, 3));
    OK(cuEventRecord(other, first));
    OK(cuStreamSynchronize(first));
    OK(cuEventDestroy_v2(other));
    ENDS_CLEAN();
}
static void stream_of_the_application_is_exempt(void) {
    begin();
    CUevent other = new_event();
    STANDIN(standin_lease_rule)(1);
    STANDIN(standin_exempt_stream)(first);
    OK(launch_fill(module, first, x, n, 1));
    OK(cuEventRecord(event, first));
    OK(launch_mix(module, first, x, n, 3));
    OK(cuEventRecord(other, first));
    OK(cuStreamSynchronize(first));
    OK(cuEventDestroy_v2(other));
    ENDS_CLEAN();
}

/* Unless it is asked for, the rule is for the streams that norn makes. */
static void lease_by_default(void) {
    begin();
    CUstream norns;
    CUevent other = new_event();
    OK(cuStreamCreateWithPriority(&norns, CU_STREAM_NON_BLOCKING, 0));
    OK(launch_fill(module, first, x, n, 1));
    OK(cuEventRecord(event, first));
    OK(launch_fill(module, first, y, n, 3));
    FOUND_NOTHING();
    OK(cuStreamSynchronize(first));
    OK(launch_fill(module, norns, y, n, 1));
    OK(cuEventRecord(other, norns));
    OK(launch_mix(module, norns, x, n, 3));
    OK(cuCtxSynchronize());
    OK(cuEventDestroy_v2(other));
    OK(cuStreamDestroy_v2(norns));
    ENDS_WITH("stream-busy", 1);
}

/* ---- Where calls come from ---- */

static CUresult from_callback;
static void calls_the_driver(void *arg) { from_callback = cuEventQuery(*(CUevent *)arg); }
static void call_inside_a_host_function(void) {
    begin();
    OK(cuEventRecord(event, first));
    OK(cuLaunchHostFunc(first, calls_the_driver, &event));
    OK(cuStreamSynchronize(first));
    EQUAL(from_callback, CUDA_ERROR_NOT_PERMITTED);
    ENDS_WITH("call-in-callback", 1);
}
static void *without_context(void *arg) {
    CUdeviceptr memory;
    (void)arg;
    RESULT(cuMemAlloc_v2(&memory, 8), CUDA_ERROR_INVALID_CONTEXT);
    RESULT(cuEventQuery(event), CUDA_ERROR_INVALID_CONTEXT);
    return NULL;
}
static void call_without_a_context(void) {
    pthread_t thread;
    begin();
    CHECK(pthread_create(&thread, NULL, without_context, NULL) == 0 && pthread_join(thread, NULL) == 0);
    ENDS_WITH("no-context", 2);
}
static CUcontext other_device(void) {
    CUcontext other;
    OK(cuDevicePrimaryCtxRetain(&other, 1));
    return other;
}
static void work_under_the_wrong_context(void) {
    begin();
    OK(cuCtxSetCurrent(other_device()));
    OK(cuMemsetD8Async(x, 0, 8, first));
    OK(cuCtxSetCurrent(context));
    OK(cuDevicePrimaryCtxRelease_v2(1));
    ENDS_WITH("wrong-context", 1);
}
static void event_on_another_device_s_stream(void) {
    begin();
    OK(cuCtxSetCurrent(other_device()));
    CUstream there = new_stream();
    RESULT(cuEventRecord(event, there), CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamDestroy_v2(there));
    OK(cuCtxSetCurrent(context));
    OK(cuDevicePrimaryCtxRelease_v2(1));
    ENDS_WITH("wrong-context", 1);
}
static void memory_freed_under_the_wrong_context(void) {
    begin();
    CUdeviceptr z = device_memory(8);
    OK(cuCtxSetCurrent(other_device()));
    OK(cuMemFree_v2(z));
    OK(cuCtxSetCurrent(context));
    OK(cuDevicePrimaryCtxRelease_v2(1));
    ENDS_WITH("wrong-context", 1);
}
static void kernel_of_another_device(void) {
    begin();
    OK(cuCtxSetCurrent(other_device()));
    CUstream there = new_stream();
    RESULT(launch_fill(module, there, x, n, 1), CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamDestroy_v2(there));
    OK(cuCtxSetCurrent(context));
    OK(cuDevicePrimaryCtxRelease_v2(1));
    /* Once for getting the function, once for launching it. */
    ENDS_WITH("wrong-context", 2);
}
static void used_after_destroy(void) {
    begin();
    CUevent gone = new_event();
    CUstream stream = new_stream();
    OK(cuEventDestroy_v2(gone));
    OK(cuStreamDestroy_v2(stream));
    RESULT(cuEventQuery(gone), CUDA_ERROR_INVALID_HANDLE);
    RESULT(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    RESULT(cuEventDestroy_v2(gone), CUDA_ERROR_INVALID_HANDLE);
    RESULT(cuStreamQuery((CUstream)(uintptr_t)0x1234567), CUDA_ERROR_INVALID_HANDLE); /* garbage: only the error */
    ENDS_WITH("use-after-destroy", 3);
}
static void context_used_after_release(void) {
    begin();
    CUcontext other = other_device();
    OK(cuDevicePrimaryCtxRelease_v2(1));
    RESULT(cuCtxSetCurrent(other), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ENDS_WITH("dead-context", 1);
}

/* ---- Random use, right and wrong ---- */

/* A random program that waits for what it must; with one wait in ten left out, the checker finds a race. */
static int random_program(int leave_out) {
    enum { data = 6, lanes = 4 };
    CUdeviceptr memory[data];
    CUstream lane[lanes];
    CUevent last[data];
    int on[data];
    unsigned random = 99;
    begin();
    for (int i = 0; i < lanes; ++i) lane[i] = new_stream();
    for (int i = 0; i < data; ++i) {
        memory[i] = device_memory(n * 8);
        last[i] = NULL;
        on[i] = -1;
    }
    for (int step = 0; step < 2000; ++step) {
        random = random * 1664525 + 1013904223;
        const int at = (int)(random >> 10) % lanes, d = (int)(random >> 20) % data;
        const int forget = leave_out && step % 10 == 0;
        if (last[d] != NULL) {
            if (!forget) OK(cuStreamWaitEvent(lane[at], last[d], 0));
            OK(cuEventDestroy_v2(last[d]));
        }
        OK(launch_mix(module, lane[at], memory[d], n, (uint64_t)step));
        last[d] = new_event();
        on[d] = at;
        OK(cuEventRecord(last[d], lane[at]));
        if (step % 100 == 99) {
            const int look = (int)(random >> 5) % data;
            if (last[look] != NULL) OK(cuEventSynchronize(last[look]));
        }
    }
    for (int i = 0; i < lanes; ++i) end_stream(lane[i]);
    for (int i = 0; i < data; ++i) {
        if (last[i] != NULL) OK(cuEventDestroy_v2(last[i]));
        OK(cuMemFree_v2(memory[i]));
        CHECK(on[i] < lanes);
    }
    end();
    return STANDIN(standin_violations)("race");
}
static void random_program_that_waits(void) {
    EQUAL(random_program(0), 0);
    FOUND_NOTHING();
}
static void random_program_that_forgets(void) { CHECK(random_program(1) > 50); }

/* The default: a line, and the end. */
static void first_violation_aborts(void) {
    const pid_t child = fork();
    if (child == 0) {
        enter(0);
        (void)cuEventQuery(new_event());
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

CASES(OWN(wait_for_an_event_never_recorded), OWN(query_of_an_event_never_recorded), OWN(event_recorded_late),
      OWN(event_reused_too_early), OWN(event_reused_unseen), OWN(event_reused_when_seen), OWN(event_seen_through_a_later_one),
      OWN(rule_can_be_turned_off), OWN(wait_left_out), OWN(wait_left_out_with_luck), OWN(wait_in_place), OWN(wait_by_the_host),
      OWN(readers_may_overlap), OWN(writer_after_one_reader_of_two), OWN(disjoint_halves_are_independent),
      OWN(one_element_in_common), OWN(columns_side_by_side_are_independent), OWN(columns_that_overlap),
      OWN(host_side_of_copies_is_ordered_too), OWN(told_by_a_host_function), OWN(told_by_a_value), OWN(gated_by_the_host),
      OWN(legacy_stream_is_an_order), OWN(overlapping_copy), OWN(memory_freed_while_used), OWN(memory_freed_when_seen),
      OWN(ordered_free_too_early), OWN(ordered_free_in_order), OWN(used_before_the_ordered_allocation), OWN(used_after_free),
      OWN(used_after_ordered_free), OWN(freed_twice), OWN(pinned_memory_freed_while_used), OWN(registration_ended_while_used),
      OWN_WITH(pageable_memory_expected_unused, "STANDIN_PAGEABLE=asynchronous"),
      OWN_WITH(pageable_memory_unmapped_while_queued, "STANDIN_PAGEABLE=asynchronous"), OWN(stream_destroyed_while_busy),
      OWN(stream_destroyed_when_seen), OWN(stream_expected_idle), OWN(lease_of_a_busy_stream), OWN(lease_of_an_idle_stream), OWN(lease_that_follows_on),
      OWN(stream_of_the_application_is_exempt),
      OWN(lease_by_default), OWN(call_inside_a_host_function), OWN(call_without_a_context),
      OWN(work_under_the_wrong_context), OWN(event_on_another_device_s_stream), OWN(memory_freed_under_the_wrong_context),
      OWN(kernel_of_another_device), OWN(used_after_destroy), OWN(context_used_after_release), OWN(random_program_that_waits),
      OWN(random_program_that_forgets), OWN(first_violation_aborts))
