// The kernels that the tests run on a real device. On the stand-in driver, host functions of the same names run instead
// (driver/kernels.cpp): a change here is made there too, and in kernels.ptx, which kernels.sh makes from this file.
//
// Every kernel takes any grid; n counts elements. mix_u64 and combine_u64 do not commute, so that a wrong order shows.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
typedef unsigned long long u64;

static __device__ u64 first() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ u64 stride() { return (u64)gridDim.x * blockDim.x; }
static __device__ u64 nanoseconds() {
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

extern "C" __global__ void noop() {}

extern "C" __global__ void spin_ns(u64 ns) {
    const u64 until = nanoseconds() + ns;
    while (nanoseconds() < until) {
    }
}

extern "C" __global__ void spin_until_u32(const unsigned *flag, unsigned value) {
    while (*(const volatile unsigned *)flag != value) {
    }
    __threadfence_system();
}

extern "C" __global__ void fill_f64(double *x, u64 n, double value) {
    for (u64 i = first(); i < n; i += stride()) x[i] = value;
}

extern "C" __global__ void fill_u64(u64 *x, u64 n, u64 value) {
    for (u64 i = first(); i < n; i += stride()) x[i] = value;
}

extern "C" __global__ void add_one_u64(u64 *x, u64 n) {
    for (u64 i = first(); i < n; i += stride()) x[i] += 1;
}

extern "C" __global__ void copy_u64(u64 *to, const u64 *from, u64 n) {
    for (u64 i = first(); i < n; i += stride()) to[i] = from[i];
}

extern "C" __global__ void axpy_f64(double *y, const double *x, u64 n, double a) {
    for (u64 i = first(); i < n; i += stride()) y[i] = __dadd_rn(y[i], __dmul_rn(a, x[i]));
}

extern "C" __global__ void mix_u64(u64 *x, u64 n, u64 key) {
    for (u64 i = first(); i < n; i += stride()) x[i] = (x[i] ^ key) * 6364136223846793005ULL + i;
}

extern "C" __global__ void combine_u64(u64 *y, const u64 *x, u64 n, u64 key) {
    for (u64 i = first(); i < n; i += stride()) y[i] = (y[i] ^ key) * 6364136223846793005ULL + x[i];
}

extern "C" __global__ void illegal_write() { *(volatile u64 *)64 = 1; }

extern "C" __global__ void trap() { asm volatile("trap;"); }
