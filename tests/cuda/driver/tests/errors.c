/*
 * Errors: their names, and those that a test plants.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#include "case.h"

static void they_have_names(void) {
    const char *text = NULL;
    OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    CHECK(strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS") == 0);
    OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
    CHECK(text != NULL && *text != '\0');
    RESULT(cuGetErrorName(12345, &text), CUDA_ERROR_INVALID_VALUE);
    CHECK(text == NULL);
}

static void nth_call_fails_and_does_nothing(void) {
    enter(0);
    CUstream stream;
    STANDIN(standin_fail_next)("cuStreamCreate", 2, CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuStreamCreate(&stream, 1));
    OK(cuStreamDestroy_v2(stream));
    RESULT(cuStreamCreate(&stream, 1), CUDA_ERROR_OUT_OF_MEMORY);
    EQUAL(STANDIN(standin_live)("streams"), 0);
    OK(cuStreamCreate(&stream, 1));
    OK(cuStreamDestroy_v2(stream));
    leave(0);
}

static void suffix_may_be_left_out(void) {
    CUdeviceptr x;
    enter(0);
    STANDIN(standin_fail_next)("cuMemAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY);
    RESULT(cuMemAlloc_v2(&x, 8), CUDA_ERROR_OUT_OF_MEMORY);
    leave(0);
}

static void planted_sticky_error_poisons(void) {
    enter(0);
    CUdeviceptr x;
    STANDIN(standin_fail_next)("cuMemAlloc_v2", 1, CUDA_ERROR_ECC_UNCORRECTABLE);
    RESULT(cuMemAlloc_v2(&x, 8), CUDA_ERROR_ECC_UNCORRECTABLE);
    RESULT(cuMemAlloc_v2(&x, 8), CUDA_ERROR_ECC_UNCORRECTABLE);
    RESULT(cuCtxSynchronize(), CUDA_ERROR_ECC_UNCORRECTABLE);
}

static void nth_launch_faults(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUstream stream = new_stream();
    STANDIN(standin_fault_kernel)("noop", 2, CUDA_ERROR_MISALIGNED_ADDRESS);
    OK(launch(kernel_of(module, "noop"), stream, NULL));
    OK(cuStreamSynchronize(stream));
    OK(launch(kernel_of(module, "noop"), stream, NULL));
    RESULT(cuStreamSynchronize(stream), CUDA_ERROR_MISALIGNED_ADDRESS);
}

static void planted_by_the_environment(void) {
    CUcontext context = enter(0), current;
    CUstream stream;
    RESULT(cuStreamCreate(&stream, 1), CUDA_ERROR_UNKNOWN);
    OK(cuStreamCreate(&stream, 1));
    OK(cuStreamDestroy_v2(stream));
    OK(cuCtxGetCurrent(&current));
    RESULT(cuCtxGetCurrent(&current), CUDA_ERROR_NOT_SUPPORTED);
    CHECK(current == context);
    leave(0);
}

static void planted_by_chance(void) {
    enter(0);
    int failed = 0;
    for (int i = 0; i < 1000; ++i) {
        CUevent event;
        if (cuEventCreate(&event, 0) == CUDA_SUCCESS) {
            OK(cuEventDestroy_v2(event));
        } else {
            ++failed;
        }
    }
    CHECK(failed > 50 && failed < 200);
    leave(0);
}

static void poisoned_context_ends_pending_work(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUstream long_one = new_stream(), stream = new_stream();
    uint32_t value = 1;
    CUdeviceptr flag = device_memory(4);
    void *arguments[] = {&flag, &value};
    OK(cuMemsetD32_v2(flag, 0, 1));
    OK(cuCtxSynchronize());
    OK(cuLaunchKernel(kernel_of(module, "spin_until_u32"), 1, 1, 1, 1, 1, 1, 0, long_one, arguments, NULL));
    OK(launch(kernel_of(module, "illegal_write"), stream, NULL));
    RESULT(cuStreamSynchronize(long_one), CUDA_ERROR_ILLEGAL_ADDRESS); /* and is no hang */
    while (STANDIN(standin_live)("pending") != 0) sleep_ms(1);
}

static void calls_are_counted(void) {
    enter(0);
    for (int i = 0; i < 5; ++i) OK(cuCtxSynchronize());
    EQUAL(STANDIN(standin_calls)("cuCtxSynchronize"), 5);
    EQUAL(STANDIN(standin_calls)("cuDevicePrimaryCtxRelease"), 0);
    leave(0);
    EQUAL(STANDIN(standin_calls)("cuDevicePrimaryCtxRelease"), 1);
}

CASES(CASE(they_have_names), OWN(nth_call_fails_and_does_nothing), OWN(suffix_may_be_left_out),
      OWN(planted_sticky_error_poisons), OWN(nth_launch_faults),
      OWN_WITH(planted_by_the_environment, "STANDIN_FAIL=cuStreamCreate:1:999,cuCtxGetCurrent:2:801"),
      OWN_WITH(planted_by_chance, "STANDIN_FAIL=cuEventCreate:1/10:2"), OWN(poisoned_context_ends_pending_work),
      OWN(calls_are_counted))
