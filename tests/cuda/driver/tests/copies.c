/*
 * Copies in all directions and shapes, and fills.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#include "case.h"

static unsigned char pattern(size_t i) { return (unsigned char)(i * 7 + i / 251); }
static void fill_pattern(unsigned char *to, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) to[i] = pattern(i);
}
static int is_pattern(const unsigned char *at, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i)
        if (at[i] != pattern(i)) return 0;
    return 1;
}

enum { large = 3 << 20 };

static void there_and_back(unsigned char *from, unsigned char *to, int asynchronous) {
    CUdeviceptr x = device_memory(large), y = device_memory(large);
    CUstream stream = new_stream();
    fill_pattern(from, large);
    memset(to, 0, large);
    if (asynchronous) {
        OK(cuMemcpyHtoDAsync_v2(x, from, large, stream));
        OK(cuMemcpyDtoDAsync_v2(y, x, large, stream));
        OK(cuMemcpyDtoHAsync_v2(to, y, large, stream));
        OK(cuStreamSynchronize(stream));
    } else {
        OK(cuMemcpyHtoD_v2(x, from, large));
        OK(cuMemcpyDtoD_v2(y, x, large));
        OK(cuMemcpyDtoH_v2(to, y, large));
    }
    CHECK(is_pattern(to, large));
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
    end_stream(stream);
}

static void pinned_memory_there_and_back(void) {
    enter(0);
    unsigned char *from = pinned_memory(large), *to = pinned_memory(large);
    there_and_back(from, to, 1);
    there_and_back(from, to, 0);
    OK(cuMemFreeHost(from));
    OK(cuMemFreeHost(to));
    leave(0);
}

static void pageable_memory_there_and_back(void) {
    enter(0);
    unsigned char *from = malloc(large), *to = malloc(large);
    CHECK(from && to);
    there_and_back(from, to, 1);
    there_and_back(from, to, 0);
    free(from);
    free(to);
    leave(0);
}

static void pageable_memory_there_and_back_later(void) { pageable_memory_there_and_back(); }

static void addresses_alone_tell_the_direction(void) {
    enter(0);
    unsigned char *from = pinned_memory(100), *to = pinned_memory(100);
    CUdeviceptr x = device_memory(100);
    CUstream stream = new_stream();
    fill_pattern(from, 100);
    OK(cuMemcpyAsync(x, (CUdeviceptr)(uintptr_t)from, 100, stream));
    OK(cuMemcpyAsync((CUdeviceptr)(uintptr_t)to, x, 100, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(is_pattern(to, 100));
    OK(cuMemFreeHost(from));
    OK(cuMemFreeHost(to));
    OK(cuMemFree_v2(x));
    end_stream(stream);
    leave(0);
}

static void between_devices(void) {
    unsigned char from[1000], to[1000] = {0};
    CUcontext first = enter(0), second;
    CUdeviceptr x = device_memory(1000);
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    OK(cuCtxSetCurrent(second));
    CUdeviceptr y = device_memory(1000);
    OK(cuCtxSetCurrent(first));
    CUstream stream = new_stream();
    fill_pattern(from, 1000);
    OK(cuMemcpyHtoDAsync_v2(x, from, 1000, stream));
    OK(cuMemcpyPeerAsync(y, second, x, first, 1000, stream));
    OK(cuMemsetD8Async(x, 0, 1000, stream));
    OK(cuMemcpyDtoDAsync_v2(x, y, 1000, stream));
    OK(cuMemcpyDtoHAsync_v2(to, x, 1000, stream));
    OK(cuStreamSynchronize(stream));
    CHECK(is_pattern(to, 1000));
    end_stream(stream);
    OK(cuMemFree_v2(x));
    OK(cuCtxSetCurrent(second));
    OK(cuMemFree_v2(y));
    OK(cuCtxSetCurrent(first));
    OK(cuDevicePrimaryCtxRelease_v2(1));
    leave(0);
}

/* A block of 5 rows of 7 bytes out of a plane with rows of 20 and into one with rows of 16, at offsets. */
static void blocks_of_planes(void) {
    enter(0);
    unsigned char *from = pinned_memory(400), *to = pinned_memory(400);
    size_t pitch;
    CUdeviceptr x;
    CUstream stream = new_stream();
    OK(cuMemAllocPitch_v2(&x, &pitch, 20, 20, 4));
    CHECK(pitch >= 20);
    fill_pattern(from, 400);
    memset(to, 0, 400);
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = from;
    copy.srcPitch = 20;
    copy.srcXInBytes = 3;
    copy.srcY = 2;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = x;
    copy.dstPitch = pitch;
    copy.dstXInBytes = 1;
    copy.dstY = 4;
    copy.WidthInBytes = 7;
    copy.Height = 5;
    OK(cuMemcpy2DAsync_v2(&copy, stream));
    CUDA_MEMCPY2D back;
    memset(&back, 0, sizeof back);
    back.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    back.srcDevice = x;
    back.srcPitch = pitch;
    back.srcXInBytes = 1;
    back.srcY = 4;
    back.dstMemoryType = CU_MEMORYTYPE_HOST;
    back.dstHost = to;
    back.dstPitch = 16;
    back.dstXInBytes = 2;
    back.dstY = 1;
    back.WidthInBytes = 7;
    back.Height = 5;
    OK(cuMemcpy2DAsync_v2(&back, stream));
    OK(cuStreamSynchronize(stream));
    for (size_t row = 0; row < 20; ++row)
        for (size_t column = 0; column < 16; ++column) {
            const int inside = row >= 1 && row < 6 && column >= 2 && column < 9;
            const unsigned char expected = inside ? from[(row - 1 + 2) * 20 + column - 2 + 3] : 0;
            EQUAL(to[row * 16 + column], expected);
        }
    back.dstPitch = 8; /* shorter than its rows */
    RESULT(cuMemcpy2DAsync_v2(&back, stream), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeHost(from));
    OK(cuMemFreeHost(to));
    OK(cuMemFree_v2(x));
    end_stream(stream);
    leave(0);
}

static void blocks_of_cubes(void) {
    enter(0);
    enum { side = 8, bytes = side * side * side };
    unsigned char *from = pinned_memory(bytes), *to = pinned_memory(bytes);
    CUdeviceptr x = device_memory(bytes);
    CUstream stream = new_stream();
    fill_pattern(from, bytes);
    memset(to, 0, bytes);
    OK(cuMemcpyHtoDAsync_v2(x, from, bytes, stream));
    CUDA_MEMCPY3D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = x;
    copy.srcPitch = copy.dstPitch = side;
    copy.srcHeight = copy.dstHeight = side;
    copy.srcXInBytes = 1;
    copy.srcY = 2;
    copy.srcZ = 3;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = to;
    copy.dstZ = 1;
    copy.WidthInBytes = 4;
    copy.Height = 3;
    copy.Depth = 2;
    OK(cuMemcpy3DAsync_v2(&copy, stream));
    OK(cuStreamSynchronize(stream));
    for (size_t z = 0; z < side; ++z)
        for (size_t y = 0; y < side; ++y)
            for (size_t column = 0; column < side; ++column) {
                const int inside = z >= 1 && z < 3 && y < 3 && column < 4;
                const unsigned char expected = inside ? from[((z - 1 + 3) * side + y + 2) * side + column + 1] : 0;
                EQUAL(to[(z * side + y) * side + column], expected);
            }
    OK(cuMemFreeHost(from));
    OK(cuMemFreeHost(to));
    OK(cuMemFree_v2(x));
    end_stream(stream);
    leave(0);
}

static void empty_ones_do_nothing(void) {
    enter(0);
    CUdeviceptr x = device_memory(16);
    CUstream stream = new_stream();
    unsigned char byte = 5;
    OK(cuMemcpyHtoDAsync_v2(x, &byte, 0, stream));
    OK(cuMemcpyDtoHAsync_v2(&byte, x, 0, stream));
    OK(cuMemsetD8Async(x, 1, 0, stream));
    OK(cuStreamSynchronize(stream));
    EQUAL(byte, 5);
    OK(cuMemFree_v2(x));
    end_stream(stream);
    leave(0);
}

static void beyond_the_end_is_refused(void) {
    enter(0);
    CUdeviceptr x = device_memory(4096);
    unsigned char *host = pinned_memory(8192);
    RESULT(cuMemcpyHtoD_v2(x, host, 8192 << 10), CUDA_ERROR_INVALID_VALUE);
    RESULT(cuMemcpyDtoH_v2(host, 0, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(x));
    OK(cuMemFreeHost(host));
    leave(0);
}

static void fills_of_each_width(void) {
    enter(0);
    CUstream stream = new_stream();
    CUdeviceptr x = device_memory(64);
    unsigned char host[64];
    OK(cuMemsetD8Async(x, 0x11, 64, stream));
    OK(cuMemsetD16Async(x + 2, 0x2223, 3, stream));
    OK(cuMemsetD32Async(x + 12, 0x44454647, 2, stream));
    OK(cuMemsetD2D8Async(x + 32, 8, 0x77, 3, 2, stream));
    OK(cuMemcpyDtoHAsync_v2(host, x, 64, stream));
    OK(cuStreamSynchronize(stream));
    EQUAL(host[1], 0x11);
    EQUAL(host[2], 0x23);
    EQUAL(host[7], 0x22);
    EQUAL(host[8], 0x11);
    EQUAL(host[12], 0x47);
    EQUAL(host[19], 0x44);
    EQUAL(host[20], 0x11);
    EQUAL(host[34], 0x77);
    EQUAL(host[35], 0x11);
    EQUAL(host[42], 0x77);
    EQUAL(host[43], 0x11);
    RESULT(cuMemsetD32Async(x + 1, 0, 1, stream), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(x));
    end_stream(stream);
    leave(0);
}

CASES(CASE(pinned_memory_there_and_back), CASE(pageable_memory_there_and_back),
      OWN_WITH(pageable_memory_there_and_back_later, "STANDIN_PAGEABLE=asynchronous"),
      CASE(addresses_alone_tell_the_direction), OWN(between_devices), CASE(blocks_of_planes), CASE(blocks_of_cubes),
      CASE(empty_ones_do_nothing), CASE(beyond_the_end_is_refused), CASE(fills_of_each_width))
