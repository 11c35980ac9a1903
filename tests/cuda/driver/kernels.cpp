// The kernels of ../kernels.cu as host functions, so that a program that loads ../kernels.ptx runs on both.
//
// Each takes the whole grid in one call. Where the real kernel strides over its data, so does this one, in an order
// that the grid does not fix anyway.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "call.hpp"

#include <algorithm>
#include <cstring>
#include <sched.h>
#include <time.h>

namespace standin {

namespace {

template <class T> T argument(const standin_launch *launch, size_t index) {
    T value;
    memcpy(&value, launch->arguments[index], sizeof value);
    return value;
}

// Halfway, by chance, others may run.
template <class Step> CUresult each(uint64_t count, Step step) {
    const uint64_t pause = nudge() ? count / 2 : count;
    for (uint64_t i = 0; i < count; ++i) {
        if (i == pause) sched_yield();
        step(i);
    }
    return CUDA_SUCCESS;
}

void sleep_ns(int64_t ns) {
    const timespec time = {ns / 1'000'000'000, ns % 1'000'000'000};
    nanosleep(&time, nullptr);
}

CUresult run_noop(const standin_launch *) { return CUDA_SUCCESS; }

CUresult run_spin_ns(const standin_launch *launch) {
    const int64_t until = now_ns() + static_cast<int64_t>(argument<uint64_t>(launch, 0));
    for (int64_t left; (left = until - now_ns()) > 0 && !standin_stopped(launch);) sleep_ns(std::min<int64_t>(left, 1'000'000));
    return CUDA_SUCCESS;
}

CUresult run_spin_until_u32(const standin_launch *launch) {
    const uint32_t *flag = argument<uint32_t *>(launch, 0);
    const uint32_t value = argument<uint32_t>(launch, 1);
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != value && !standin_stopped(launch)) sleep_ns(20000);
    return CUDA_SUCCESS;
}

CUresult run_fill_f64(const standin_launch *launch) {
    double *x = argument<double *>(launch, 0);
    const double value = argument<double>(launch, 2);
    return each(argument<uint64_t>(launch, 1), [=](uint64_t i) { x[i] = value; });
}

CUresult run_fill_u64(const standin_launch *launch) {
    uint64_t *x = argument<uint64_t *>(launch, 0);
    const uint64_t value = argument<uint64_t>(launch, 2);
    return each(argument<uint64_t>(launch, 1), [=](uint64_t i) { x[i] = value; });
}

CUresult run_add_one_u64(const standin_launch *launch) {
    uint64_t *x = argument<uint64_t *>(launch, 0);
    return each(argument<uint64_t>(launch, 1), [=](uint64_t i) { ++x[i]; });
}

CUresult run_copy_u64(const standin_launch *launch) {
    uint64_t *to = argument<uint64_t *>(launch, 0);
    const uint64_t *from = argument<uint64_t *>(launch, 1);
    return each(argument<uint64_t>(launch, 2), [=](uint64_t i) { to[i] = from[i]; });
}

CUresult run_axpy_f64(const standin_launch *launch) {
    double *y = argument<double *>(launch, 0);
    const double *x = argument<double *>(launch, 1);
    const double a = argument<double>(launch, 3);
    return each(argument<uint64_t>(launch, 2), [=](uint64_t i) { y[i] += a * x[i]; });
}

constexpr uint64_t factor = 6364136223846793005;

CUresult run_mix_u64(const standin_launch *launch) {
    uint64_t *x = argument<uint64_t *>(launch, 0);
    const uint64_t key = argument<uint64_t>(launch, 2);
    return each(argument<uint64_t>(launch, 1), [=](uint64_t i) { x[i] = (x[i] ^ key) * factor + i; });
}

CUresult run_combine_u64(const standin_launch *launch) {
    uint64_t *y = argument<uint64_t *>(launch, 0);
    const uint64_t *x = argument<uint64_t *>(launch, 1);
    const uint64_t key = argument<uint64_t>(launch, 3);
    return each(argument<uint64_t>(launch, 2), [=](uint64_t i) { y[i] = (y[i] ^ key) * factor + x[i]; });
}

CUresult run_illegal_write(const standin_launch *) { return CUDA_ERROR_ILLEGAL_ADDRESS; }
CUresult run_trap(const standin_launch *) { return CUDA_ERROR_LAUNCH_FAILED; }

// One array of eight-byte elements, changed; two, the second only read; one, overwritten; a flag.
void touches_one(const standin_launch *launch, standin_touch_fn touch, void *to) {
    touch(to, 0, 0, 8 * argument<uint64_t>(launch, 1), 1);
}
void touches_two(const standin_launch *launch, standin_touch_fn touch, void *to) {
    touch(to, 0, 0, 8 * argument<uint64_t>(launch, 2), 1);
    touch(to, 1, 0, 8 * argument<uint64_t>(launch, 2), 0);
}
void touches_nothing(const standin_launch *, standin_touch_fn, void *) {}

const standin_kernel built_in[] = {
    {"noop", "", run_noop, touches_nothing},
    {"spin_ns", "l", run_spin_ns, touches_nothing},
    {"spin_until_u32", "pi", run_spin_until_u32, nullptr},
    {"fill_f64", "pld", run_fill_f64, touches_one},
    {"fill_u64", "pll", run_fill_u64, touches_one},
    {"add_one_u64", "pl", run_add_one_u64, touches_one},
    {"copy_u64", "ppl", run_copy_u64, touches_two},
    {"axpy_f64", "ppld", run_axpy_f64, touches_two},
    {"mix_u64", "pll", run_mix_u64, touches_one},
    {"combine_u64", "ppll", run_combine_u64, touches_two},
    {"illegal_write", "", run_illegal_write, touches_nothing},
    {"trap", "", run_trap, touches_nothing},
};

} // namespace

Ref<Kernel> kernel_named(const std::string &name) {
    const auto found = state().kernels.find(name);
    if (found != state().kernels.end()) return found->second;
    for (const standin_kernel &kernel : built_in)
        if (name == kernel.name) return std::make_shared<Kernel>(Kernel{kernel.name, kernel.parameters, kernel.run, kernel.touches});
    return nullptr;
}

} // namespace standin

using namespace standin;

extern "C" void standin_register_kernel(const standin_kernel *kernel) {
    const std::lock_guard<std::mutex> lock(state().lock);
    state().kernels[kernel->name] =
        std::make_shared<Kernel>(Kernel{kernel->name, kernel->parameters, kernel->run, kernel->touches});
}

extern "C" int standin_stopped(const standin_launch *launch) {
    const std::lock_guard<std::mutex> lock(state().lock);
    return static_cast<const Context *>(launch->driver)->error != CUDA_SUCCESS;
}
