/*
 * Stream-ordered memory.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#include "case.h"

static uint64_t attribute(CUmemoryPool pool, int which) {
    uint64_t value = 0;
    OK(cuMemPoolGetAttribute(pool, which, &value));
    return value;
}

static CUmemoryPool new_pool(size_t maximum) {
    CUmemoryPool pool;
    CUmemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.maxSize = maximum;
    OK(cuMemPoolCreate(&pool, &props));
    return pool;
}

static void allocated_used_and_freed_in_order(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUstream stream = new_stream();
    uint64_t *host = pinned_memory(64 * 8);
    for (uint64_t round = 0; round < 64; ++round) {
        CUdeviceptr x;
        OK(cuMemAllocAsync(&x, 4096, stream));
        OK(launch_fill(module, stream, x, 512, round));
        OK(cuMemcpyDtoHAsync_v2(host + round, x + 4088, 8, stream));
        OK(cuMemFreeAsync(x, stream));
    }
    OK(cuStreamSynchronize(stream));
    for (uint64_t round = 0; round < 64; ++round) EQUAL(host[round], round);
    OK(cuMemFreeHost(host));
    OK(cuModuleUnload(module));
    end_stream(stream);
    leave(0);
}

static void default_pool_is_the_device_s(void) {
    CUmemoryPool first, now;
    enter(0);
    OK(cuDeviceGetDefaultMemPool(&first, 0));
    OK(cuDeviceGetMemPool(&now, 0));
    CHECK(first == now);
    CUmemoryPool other = new_pool(0);
    OK(cuDeviceSetMemPool(0, other));
    OK(cuDeviceGetMemPool(&now, 0));
    CHECK(now == other);
    OK(cuDeviceSetMemPool(0, first));
    OK(cuMemPoolDestroy(other));
    leave(0);
}

static void attributes_count_what_is_used(void) {
    enter(0);
    CUstream stream = new_stream();
    CUmemoryPool pool = new_pool(0);
    uint64_t threshold = 1 << 20, zero = 0;
    CUdeviceptr x;
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    EQUAL(attribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 1 << 20);
    OK(cuMemAllocFromPoolAsync(&x, 100000, pool, stream));
    CHECK(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) >= 100000);
    OK(cuMemFreeAsync(x, stream));
    OK(cuStreamSynchronize(stream));
    EQUAL(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    CHECK(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) >= 100000);
    CHECK(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= 100000);
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
    EQUAL(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0);
    OK(cuMemPoolTrimTo(pool, 0));
    EQUAL(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
    OK(cuMemPoolDestroy(pool));
    end_stream(stream);
    leave(0);
}

static void ceiling_of_a_pool(void) {
    enter(0);
    CUstream stream = new_stream();
    CUmemoryPool pool = new_pool(1 << 20);
    CUdeviceptr x, y;
    OK(cuMemAllocFromPoolAsync(&x, 600000, pool, stream));
    RESULT(cuMemAllocFromPoolAsync(&y, 600000, pool, stream), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemFreeAsync(x, stream));
    OK(cuMemAllocFromPoolAsync(&y, 600000, pool, stream)); /* a queued free is waited for */
    OK(cuMemFreeAsync(y, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemPoolDestroy(pool));
    end_stream(stream);
    leave(0);
}

static void access_of_a_peer_is_granted(void) {
    enter(0);
    CUmemoryPool pool = new_pool(0);
    CUmemLocation there = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
    CUmemAccessDesc grant = {there, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    int flags = 99;
    OK(cuMemPoolGetAccess(&flags, pool, &there));
    EQUAL(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    OK(cuMemPoolSetAccess(pool, &grant, 1));
    OK(cuMemPoolGetAccess(&flags, pool, &there));
    EQUAL(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemPoolDestroy(pool));
    leave(0);
}

static void freed_by_the_plain_call_too(void) {
    enter(0);
    CUstream stream = new_stream();
    CUdeviceptr x;
    OK(cuMemAllocAsync(&x, 100, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemFree_v2(x));
    x = device_memory(100);
    OK(cuMemFreeAsync(x, stream));
    end_stream(stream);
    leave(0);
}

CASES(CASE(allocated_used_and_freed_in_order), CASE(default_pool_is_the_device_s), CASE(attributes_count_what_is_used),
      OWN(ceiling_of_a_pool), OWN(access_of_a_peer_is_granted), CASE(freed_by_the_plain_call_too))
