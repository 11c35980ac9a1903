/*
 * Events: recorded, waited for by streams and by the host, timed.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#include "case.h"

static void query_and_synchronize(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUstream stream = new_stream();
    CUevent event = new_event();
    OK(launch_spin(module, stream, 100000000));
    OK(cuEventRecord(event, stream));
    RESULT(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    OK(cuEventSynchronize(event));
    OK(cuEventQuery(event));
    OK(cuStreamQuery(stream));
    OK(cuEventDestroy_v2(event));
    end_stream(stream);
    OK(cuModuleUnload(module));
    leave(0);
}

static void wait_orders_two_streams(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUstream first = new_stream(), second = new_stream();
    CUevent event = new_event();
    CUdeviceptr x = device_memory(8);
    uint64_t host = 0;
    for (uint64_t round = 0; round < 20; ++round) {
        OK(launch_spin(module, first, 1000000));
        OK(launch_fill(module, first, x, 1, round));
        OK(cuEventRecord(event, first));
        OK(cuStreamWaitEvent(second, event, 0));
        OK(launch_mix(module, second, x, 1, 0));
        OK(cuMemcpyDtoHAsync_v2(&host, x, 8, second));
        OK(cuStreamSynchronize(second));
        CHECK(host == round * 6364136223846793005ULL);
    }
    OK(cuEventDestroy_v2(event));
    OK(cuMemFree_v2(x));
    end_stream(first);
    end_stream(second);
    OK(cuModuleUnload(module));
    leave(0);
}

/* What waits goes on waiting for the recording that it was told of. */
static void destroyed_event_still_orders(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUstream first = new_stream(), second = new_stream();
    CUevent event = new_event();
    CUdeviceptr x = device_memory(8);
    uint64_t host = 0;
    OK(launch_spin(module, first, 20000000));
    OK(launch_fill(module, first, x, 1, 5));
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    OK(cuEventDestroy_v2(event));
    OK(cuMemcpyDtoHAsync_v2(&host, x, 8, second));
    OK(cuStreamSynchronize(second));
    EQUAL(host, 5);
    end_stream(first);
    end_stream(second);
    OK(cuMemFree_v2(x));
    OK(cuModuleUnload(module));
    leave(0);
}

static void elapsed_time_is_that_between(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUstream stream = new_stream();
    CUevent start, end;
    float ms = -1;
    OK(cuEventCreate(&start, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&end, CU_EVENT_BLOCKING_SYNC));
    OK(cuEventRecord(start, stream));
    OK(launch_spin(module, stream, 20000000));
    OK(cuEventRecord(end, stream));
    RESULT(cuEventElapsedTime(&ms, start, end), CUDA_ERROR_NOT_READY);
    OK(cuEventSynchronize(end));
    OK(cuEventElapsedTime(&ms, start, end));
    CHECK(ms >= 19.9f);
    OK(cuEventDestroy_v2(start));
    OK(cuEventDestroy_v2(end));
    end_stream(stream);
    OK(cuModuleUnload(module));
    leave(0);
}

static void untimed_has_no_elapsed_time(void) {
    enter(0);
    CUstream stream = new_stream();
    CUevent event = new_event();
    float ms;
    OK(cuEventRecord(event, stream));
    OK(cuEventSynchronize(event));
    RESULT(cuEventElapsedTime(&ms, event, event), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventDestroy_v2(event));
    end_stream(stream);
    leave(0);
}

static void bad_flags_are_refused(void) {
    CUevent event;
    enter(0);
    RESULT(cuEventCreate(&event, 16), CUDA_ERROR_INVALID_VALUE);
    leave(0);
}

static void other_device_may_wait(void) {
    CUcontext first = enter(0), second;
    CUmodule module = load_kernels();
    CUstream here = new_stream();
    CUevent event = new_event();
    CUdeviceptr x = device_memory(8);
    uint64_t host = 0;
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    OK(launch_spin(module, here, 5000000));
    OK(launch_fill(module, here, x, 1, 11));
    OK(cuEventRecord(event, here));
    OK(cuCtxSetCurrent(second));
    CUstream there = new_stream();
    CUdeviceptr y = device_memory(8);
    OK(cuStreamWaitEvent(there, event, 0));
    OK(cuMemcpyPeerAsync(y, second, x, first, 8, there));
    OK(cuMemcpyDtoHAsync_v2(&host, y, 8, there));
    OK(cuStreamSynchronize(there));
    EQUAL(host, 11);
    OK(cuStreamDestroy_v2(there));
    OK(cuMemFree_v2(y));
    OK(cuCtxSetCurrent(first));
    OK(cuEventDestroy_v2(event));
    end_stream(here);
    OK(cuMemFree_v2(x));
    OK(cuModuleUnload(module));
    OK(cuDevicePrimaryCtxRelease_v2(1));
    leave(0);
}

CASES(CASE(query_and_synchronize), CASE(wait_orders_two_streams), CASE(destroyed_event_still_orders),
      CASE(elapsed_time_is_that_between), CASE(untimed_has_no_elapsed_time), CASE(bad_flags_are_refused),
      OWN(other_device_may_wait))
