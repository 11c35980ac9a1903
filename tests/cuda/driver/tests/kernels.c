/*
 * Kernels: those of kernels.ptx, and host functions that a test registers.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#include "case.h"

static void axpy_is_exact(void) {
    enum { n = 1000 };
    double x[n], y[n], got[n], a = 0.3;
    uint64_t count = n;
    enter(0);
    CUmodule module = load_kernels();
    CUstream stream = new_stream();
    CUdeviceptr dx = device_memory(sizeof x), dy = device_memory(sizeof y);
    for (int i = 0; i < n; ++i) {
        x[i] = 1.0 / (i + 1);
        y[i] = i * 0.7;
    }
    void *arguments[] = {&dy, &dx, &count, &a};
    OK(cuMemcpyHtoDAsync_v2(dx, x, sizeof x, stream));
    OK(cuMemcpyHtoDAsync_v2(dy, y, sizeof y, stream));
    OK(launch(kernel_of(module, "axpy_f64"), stream, arguments));
    OK(cuMemcpyDtoHAsync_v2(got, dy, sizeof got, stream));
    OK(cuStreamSynchronize(stream));
    for (int i = 0; i < n; ++i) {
        volatile double product = a * x[i];
        CHECK(got[i] == y[i] + product);
    }
    OK(cuMemFree_v2(dx));
    OK(cuMemFree_v2(dy));
    OK(cuModuleUnload(module));
    end_stream(stream);
    leave(0);
}

static void arguments_are_taken_at_the_launch(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUstream stream = new_stream();
    CUdeviceptr x = device_memory(80);
    uint64_t host[10];
    for (uint64_t i = 0; i < 10; ++i) {
        CUdeviceptr address = x + 8 * i;
        uint64_t one = 1, value = i + 100;
        void *arguments[] = {&address, &one, &value};
        OK(launch(kernel_of(module, "fill_u64"), stream, arguments));
        address = 0;
        one = 1000;
    }
    OK(cuMemcpyDtoHAsync_v2(host, x, 80, stream));
    OK(cuStreamSynchronize(stream));
    for (uint64_t i = 0; i < 10; ++i) EQUAL(host[i], i + 100);
    OK(cuMemFree_v2(x));
    OK(cuModuleUnload(module));
    end_stream(stream);
    leave(0);
}

static void arguments_in_one_buffer(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUstream stream = new_stream();
    CUdeviceptr x = device_memory(8);
    uint64_t buffer[3] = {x, 1, 77}, host = 0;
    size_t bytes = sizeof buffer;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    OK(cuLaunchKernel(kernel_of(module, "fill_u64"), 1, 1, 1, 32, 1, 1, 0, stream, NULL, extra));
    OK(cuMemcpyDtoHAsync_v2(&host, x, 8, stream));
    OK(cuStreamSynchronize(stream));
    EQUAL(host, 77);
    OK(cuMemFree_v2(x));
    OK(cuModuleUnload(module));
    end_stream(stream);
    leave(0);
}

static void bad_grids_are_refused(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUfunction noop = kernel_of(module, "noop");
    RESULT(cuLaunchKernel(noop, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    RESULT(cuLaunchKernel(noop, 1, 1, 1, 2048, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    RESULT(cuLaunchKernel(noop, 1, 1, 1, 1, 1, 1, 1 << 20, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuModuleUnload(module));
    leave(0);
}

/* From here on host functions. */
static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry sum_of(.param .u64 to, .param .u32 a, .param .f64 b)\n{\n ret;\n}\n"
                          ".visible .entry unheard_of()\n{\n ret;\n}\n";

static CUresult sum_of(const standin_launch *launch) {
    double *to = *(double **)launch->arguments[0];
    *to = *(int *)launch->arguments[1] + *(double *)launch->arguments[2] + launch->grid[0] * launch->block[1];
    return CUDA_SUCCESS;
}

static void registered_host_function_runs(void) {
    const standin_kernel kernel = {"sum_of", "pid", sum_of, NULL};
    CUmodule module;
    int a = 2;
    double b = 0.5, host = 0;
    enter(0);
    STANDIN(standin_register_kernel)(&kernel);
    OK(cuModuleLoadData(&module, ptx));
    CUstream stream = new_stream();
    CUdeviceptr x = device_memory(8);
    void *arguments[] = {&x, &a, &b};
    OK(cuLaunchKernel(kernel_of(module, "sum_of"), 3, 1, 1, 1, 5, 1, 0, stream, arguments, NULL));
    OK(cuMemcpyDtoHAsync_v2(&host, x, 8, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(host == 17.5);
    OK(cuMemFree_v2(x));
    OK(cuModuleUnload(module));
    end_stream(stream);
    leave(0);
}

static CUresult fails(const standin_launch *launch) {
    (void)launch;
    return CUDA_ERROR_ASSERT;
}
static void host_function_may_fail(void) {
    const standin_kernel kernel = {"unheard_of", "", fails, NULL};
    CUmodule module;
    enter(0);
    STANDIN(standin_register_kernel)(&kernel);
    OK(cuModuleLoadData(&module, ptx));
    OK(launch(kernel_of(module, "unheard_of"), NULL, NULL));
    RESULT(cuCtxSynchronize(), CUDA_ERROR_ASSERT);
}

static void kernel_without_host_code_is_refused(void) {
    CUmodule module;
    enter(0);
    OK(cuModuleLoadData(&module, ptx));
    RESULT(launch(kernel_of(module, "unheard_of"), NULL, NULL), CUDA_ERROR_NOT_SUPPORTED);
    OK(cuModuleUnload(module));
    leave(0);
}

static void wild_pointer_poisons(void) {
    enter(0);
    CUmodule module = load_kernels();
    OK(launch_fill(module, NULL, 0x1000, 1, 1));
    RESULT(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void write_beyond_the_end_poisons(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUdeviceptr x = device_memory(64);
    OK(launch_fill(module, NULL, x, 9, 1));
    RESULT(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void peer_memory_needs_access(void) {
    CUcontext first = enter(0), second;
    CUmodule module = load_kernels();
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    OK(cuCtxSetCurrent(second));
    CUdeviceptr there = device_memory(64);
    OK(cuCtxSetCurrent(first));
    OK(cuCtxEnablePeerAccess(second, 0));
    OK(launch_fill(module, NULL, there, 8, 1));
    OK(cuCtxSynchronize());
    OK(cuCtxDisablePeerAccess(second));
    OK(launch_fill(module, NULL, there, 8, 1));
    RESULT(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuCtxSetCurrent(second));
    OK(cuMemFree_v2(there));
    OK(cuCtxSetCurrent(NULL));
    OK(cuDevicePrimaryCtxRelease_v2(1));
}

CASES(CASE(axpy_is_exact), CASE(arguments_are_taken_at_the_launch), CASE(arguments_in_one_buffer), CASE(bad_grids_are_refused),
      OWN(registered_host_function_runs), OWN(host_function_may_fail), OWN(kernel_without_host_code_is_refused),
      OWN(wild_pointer_poisons), OWN(write_beyond_the_end_poisons), OWN(peer_memory_needs_access))
