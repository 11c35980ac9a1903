/*
 * Contexts: the primary one of a device, the stack of each thread, what a poisoned one answers.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#include "case.h"

static void primary_is_one_and_counted(void) {
    CUcontext first, second;
    unsigned flags;
    int active = -1;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EQUAL(active, 0);
    OK(cuDevicePrimaryCtxRetain(&first, 0));
    OK(cuDevicePrimaryCtxRetain(&second, 0));
    CHECK(first == second);
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EQUAL(active, 1);
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EQUAL(active, 0);
}

static void flags_are_kept(void) {
    unsigned flags = 0;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_BLOCKING_SYNC));
    enter(0);
    OK(cuCtxGetFlags(&flags));
    EQUAL(flags & 7, CU_CTX_SCHED_BLOCKING_SYNC);
    leave(0);
    RESULT(cuDevicePrimaryCtxSetFlags_v2(0, 3), CUDA_ERROR_INVALID_VALUE);
}

static void current_is_a_stack(void) {
    CUcontext primary, current;
    CUdevice device = -1;
    OK(cuInit(0));
    OK(cuCtxGetCurrent(&current));
    CHECK(current == NULL);
    RESULT(cuCtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT);
    RESULT(cuCtxPopCurrent_v2(&current), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    OK(cuCtxPushCurrent_v2(primary));
    OK(cuCtxPushCurrent_v2(primary));
    OK(cuCtxSetCurrent(NULL)); /* pops */
    OK(cuCtxGetCurrent(&current));
    CHECK(current == primary);
    OK(cuCtxGetDevice(&device));
    EQUAL(device, 0);
    OK(cuCtxPopCurrent_v2(&current));
    CHECK(current == primary);
    OK(cuCtxGetCurrent(&current));
    CHECK(current == NULL);
    OK(cuDevicePrimaryCtxRelease_v2(0));
}

static void *look_for_current(void *found) {
    OK(cuCtxGetCurrent((CUcontext *)found));
    return NULL;
}

static void each_thread_has_its_own_current(void) {
    pthread_t thread;
    CUcontext theirs;
    CUcontext mine = enter(0);
    theirs = mine;
    CHECK(pthread_create(&thread, NULL, look_for_current, &theirs) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(theirs == NULL);
    leave(0);
}

static void created_one_is_another(void) {
    CUcontext primary = enter(0), made, current;
    unsigned long long primary_id, made_id;
    OK(cuCtxCreate_v2(&made, 0, 0));
    OK(cuCtxGetCurrent(&current));
    CHECK(current == made && made != primary);
    OK(cuCtxGetId(primary, &primary_id));
    OK(cuCtxGetId(made, &made_id));
    CHECK(primary_id != made_id);
    OK(cuCtxDestroy_v2(made));
    OK(cuCtxGetCurrent(&current));
    CHECK(current == primary);
    RESULT(cuCtxDestroy_v2(primary), CUDA_ERROR_INVALID_CONTEXT);
    leave(0);
}

static void synchronize_waits_for_all_streams(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUstream streams[4];
    for (int i = 0; i < 4; ++i) {
        streams[i] = new_stream();
        OK(launch_spin(module, streams[i], 20000000));
    }
    OK(cuCtxSynchronize());
    for (int i = 0; i < 4; ++i) {
        OK(cuStreamQuery(streams[i]));
        OK(cuStreamDestroy_v2(streams[i]));
    }
    OK(cuModuleUnload(module));
    leave(0);
}

static void peers_are_asked_and_enabled_once(void) {
    int can = -1;
    CUcontext second;
    enter(0);
    OK(cuDeviceCanAccessPeer(&can, 0, 1));
    EQUAL(can, 1);
    OK(cuDeviceCanAccessPeer(&can, 0, 0));
    EQUAL(can, 0);
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    RESULT(cuCtxDisablePeerAccess(second), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    OK(cuCtxEnablePeerAccess(second, 0));
    RESULT(cuCtxEnablePeerAccess(second, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    OK(cuCtxDisablePeerAccess(second));
    OK(cuDevicePrimaryCtxRelease_v2(1));
    leave(0);
}

static void poisoned_is_terminal(void) {
    CUcontext context = enter(0), again;
    CUmodule module = load_kernels();
    CUstream stream = new_stream(), other = new_stream();
    CUevent event = new_event();
    CUdeviceptr memory = device_memory(64);
    int byte = 0;
    OK(cuEventRecord(event, other));
    OK(launch(kernel_of(module, "illegal_write"), stream, NULL));
    RESULT(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    RESULT(cuStreamQuery(other), CUDA_ERROR_ILLEGAL_ADDRESS);
    RESULT(cuEventQuery(event), CUDA_ERROR_ILLEGAL_ADDRESS);
    RESULT(cuEventSynchronize(event), CUDA_ERROR_ILLEGAL_ADDRESS);
    RESULT(cuMemcpyDtoH_v2(&byte, memory, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
    RESULT(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    RESULT(cuMemFree_v2(memory), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuCtxSetCurrent(context)); /* that still works */
    OK(cuCtxGetCurrent(&again));
    CHECK(again == context);
}

static void poisoned_leaves_other_devices_alone(void) {
    CUcontext first = enter(0), second;
    CUmodule module = load_kernels();
    CUstream stream = new_stream();
    OK(launch(kernel_of(module, "trap"), stream, NULL));
    RESULT(cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_FAILED);
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    OK(cuCtxSetCurrent(second));
    CUdeviceptr memory = device_memory(64);
    OK(cuMemFree_v2(memory));
    OK(cuCtxSetCurrent(first));
    RESULT(cuMemAlloc_v2(&memory, 64), CUDA_ERROR_LAUNCH_FAILED);
    OK(cuDevicePrimaryCtxRelease_v2(1));
}

static atomic_int called;
static void note_call(void *arg) {
    (void)arg;
    atomic_fetch_add(&called, 1);
}

static void poisoned_runs_no_host_function(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUstream stream = new_stream();
    OK(launch(kernel_of(module, "illegal_write"), stream, NULL));
    const CUresult queued = cuLaunchHostFunc(stream, note_call, NULL); /* the error may be known by now */
    CHECK(queued == CUDA_SUCCESS || queued == CUDA_ERROR_ILLEGAL_ADDRESS);
    RESULT(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    sleep_ms(20);
    EQUAL(atomic_load(&called), 0);
}

static void forked_child_is_told(void) {
    enter(0);
    const pid_t child = fork();
    if (child == 0) {
        CUdeviceptr memory;
        int devices;
        _exit(cuDeviceGetCount(&devices) == CUDA_ERROR_NOT_INITIALIZED && cuMemAlloc_v2(&memory, 1) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    leave(0);
}

CASES(CASE(primary_is_one_and_counted), CASE(flags_are_kept), CASE(current_is_a_stack), CASE(each_thread_has_its_own_current),
      CASE(created_one_is_another), CASE(synchronize_waits_for_all_streams), OWN(peers_are_asked_and_enabled_once),
      CASE(poisoned_is_terminal), OWN(poisoned_leaves_other_devices_alone), CASE(poisoned_runs_no_host_function),
      CASE(forked_child_is_told))
