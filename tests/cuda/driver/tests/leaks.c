/*
 * Leaks: told at the end of the process, at the end of a context, and when asked.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#include "case.h"

/* The status of a child that leaks and ends as a program does. */
static int status_after(void (*leak)(void)) {
    const pid_t child = fork();
    if (child == 0) {
        CUcontext context = enter(0);
        STANDIN(standin_on_violation)(STANDIN_EXIT);
        leak();
        OK(cuCtxSetCurrent(NULL));
        (void)context;
        exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void nothing(void) { OK(cuDevicePrimaryCtxRelease_v2(0)); }
static void a_context(void) {}
static void a_stream(void) {
    (void)new_stream();
    nothing();
}
static void an_event(void) {
    (void)new_event();
    nothing();
}
static void device_bytes(void) {
    (void)device_memory(100);
    nothing();
}
static void pinned_bytes(void) {
    (void)pinned_memory(100);
    nothing();
}
static void ordered_bytes(void) {
    CUdeviceptr x;
    OK(cuMemAllocAsync(&x, 100, NULL));
    OK(cuCtxSynchronize());
    nothing();
}
static void a_module(void) {
    (void)load_kernels();
    nothing();
}
static void freed_by_a_queued_call(void) {
    CUdeviceptr x;
    OK(cuMemAllocAsync(&x, 100, NULL));
    OK(cuMemFreeAsync(x, NULL));
    nothing();
}

static void clean_program_ends_well(void) {
    EQUAL(status_after(nothing), 0);
    EQUAL(status_after(freed_by_a_queued_call), 0);
}
static void context_left_behind(void) { EQUAL(status_after(a_context), 98); }
static void stream_left_behind(void) { EQUAL(status_after(a_stream), 98); }
static void event_left_behind(void) { EQUAL(status_after(an_event), 98); }
static void device_memory_left_behind(void) { EQUAL(status_after(device_bytes), 98); }
static void pinned_memory_left_behind(void) { EQUAL(status_after(pinned_bytes), 98); }
static void ordered_memory_left_behind(void) { EQUAL(status_after(ordered_bytes), 98); }
static void module_left_behind(void) { EQUAL(status_after(a_module), 98); }

static void report_tells_each_once(void) {
    enter(0);
    count_only();
    EQUAL(STANDIN(standin_report)(), 1); /* the context itself */
    CUstream stream = new_stream();
    CUevent event = new_event(), other = new_event();
    EQUAL(STANDIN(standin_report)(), 3); /* streams, events */
    EQUAL(STANDIN(standin_report)(), 3);
    FOUND("leak", 3);
    OK(cuEventDestroy_v2(event));
    OK(cuEventDestroy_v2(other));
    OK(cuStreamDestroy_v2(stream));
    leave(0);
}

static void what_lives_is_told(void) {
    enter(0);
    CUstream stream = new_stream();
    CUevent event = new_event();
    CUdeviceptr x = device_memory(100);
    void *host = pinned_memory(50);
    EQUAL(STANDIN(standin_live)("streams"), 1);
    EQUAL(STANDIN(standin_live)("events"), 1);
    EQUAL(STANDIN(standin_live)("contexts"), 1);
    EQUAL(STANDIN(standin_live)("device-bytes"), 100);
    EQUAL(STANDIN(standin_live)("pinned-bytes"), 50);
    EQUAL(STANDIN(standin_live)("registered-bytes"), 0);
    EQUAL(STANDIN(standin_live)("nonsense"), -1);
    OK(cuMemFreeHost(host));
    OK(cuMemFree_v2(x));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(stream));
    leave(0);
    EQUAL(STANDIN(standin_live)("contexts"), 0);
    EQUAL(STANDIN(standin_report)(), 0);
}

/* Nothing of the driver's own grows with the number of operations. */
static void many_operations_leave_nothing(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUstream stream = new_stream();
    CUdeviceptr x = device_memory(64);
    long before = 0;
    for (int i = 0; i < 20000; ++i) {
        CUevent event = new_event();
        CUdeviceptr y;
        OK(cuMemAllocAsync(&y, 64, stream));
        OK(launch_fill(module, stream, y, 8, 1));
        OK(cuMemcpyDtoDAsync_v2(x, y, 64, stream));
        OK(cuMemFreeAsync(y, stream));
        OK(cuEventRecord(event, stream));
        if (i % 64 == 0) OK(cuEventSynchronize(event));
        OK(cuEventDestroy_v2(event));
        if (i % 9000 != 2000) continue;
        long pages = 0, resident = 0;
        FILE *statm = fopen("/proc/self/statm", "r");
        CHECK(statm != NULL && fscanf(statm, "%ld %ld", &pages, &resident) == 2);
        fclose(statm);
        if (before == 0) before = resident;
        CHECK(resident < before + 2000);
    }
    end_stream(stream);
    OK(cuMemFree_v2(x));
    OK(cuModuleUnload(module));
    leave(0);
}

CASES(OWN(clean_program_ends_well), OWN(context_left_behind), OWN(stream_left_behind), OWN(event_left_behind),
      OWN(device_memory_left_behind), OWN(pinned_memory_left_behind), OWN(ordered_memory_left_behind), OWN(module_left_behind),
      OWN(report_tells_each_once), OWN(what_lives_is_told), OWN(many_operations_leave_nothing))
