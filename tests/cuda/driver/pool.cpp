// Stream-ordered memory: allocated and freed by operations of a stream.
//
// The address is known at the call. The checker takes the allocation and the free as touching the whole range, so a
// use that neither comes after the one nor before the other is found. The bytes go back when the free has run.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "call.hpp"

#include <algorithm>

namespace standin {

static Ref<Pool> pool_of(Call &call, CUmemoryPool handle) {
    const auto found = state().pools.find(reinterpret_cast<uint64_t>(handle));
    if (found != state().pools.end()) return found->second;
    if (was_handle(Handle::pool, reinterpret_cast<uint64_t>(handle)))
        violation("use-after-destroy", call.name, "the memory pool was destroyed");
    call.fail(CUDA_ERROR_INVALID_VALUE);
    return nullptr;
}

static void use(Pool &pool, uint64_t bytes) {
    pool.used += bytes;
    pool.used_high = std::max(pool.used_high, pool.used);
    pool.reserved = std::max(pool.reserved, pool.used);
    pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
}

static void unuse(Pool &pool, uint64_t bytes) {
    pool.used -= std::min(pool.used, bytes);
    pool.reserved = std::max(pool.used, std::min(pool.reserved, pool.threshold));
}

static CUresult allocate(Call &call, CUdeviceptr *address, size_t bytes, const Ref<Pool> &pool, CUstream handle) {
    const Ref<Stream> stream = stream_of(call, handle, For::work);
    if (stream == nullptr) return call.result;
    if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    Device &device = *state().devices[static_cast<size_t>(pool->ordinal)];
    uint64_t base = 0;
    for (;;) {
        const bool fits = (pool->maximum == 0 || bytes <= pool->maximum - std::min(pool->used, pool->maximum)) &&
                          bytes <= device.memory - std::min(device.used, device.memory);
        if (fits) base = window_allocate(device, bytes);
        if (base != 0) break;
        // A free may still be queued, and the real driver waits for it too.
        bool coming = false;
        for (const auto &[at, gone] : state().gone) coming |= gone->pool != nullptr && gone->ordinal == pool->ordinal && !gone->accesses.empty();
        if (!coming || device_work_is_held() || pending_operations() == 0 || stream->context->error != CUDA_SUCCESS)
            return CUDA_ERROR_OUT_OF_MEMORY;
        wait_for_any_end(call);
    }
    device.used += bytes;
    use(*pool, bytes);
    const Ref<Allocation> allocation =
        add_allocation({Allocation::device, base, bytes, 0, 0, stream->context, pool->ordinal, pool, call.name, nullptr, {}});
    Shape whole;
    whole.begin = base;
    whole.width = bytes;
    enqueue(call, stream, {{allocation, whole, Touch::begins}}, nullptr);
    *address = base;
    return CUDA_SUCCESS;
}

} // namespace standin

using namespace standin;

extern "C" CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream) {
    ENTER(Call::context);
    return allocate(call, address, bytes, state().devices[static_cast<size_t>(call.current->ordinal)]->pool, stream);
}

extern "C" CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream) {
    ENTER(Call::context);
    const Ref<Pool> found = pool_of(call, pool);
    if (found == nullptr) return call.result;
    return allocate(call, address, bytes, found, stream);
}

extern "C" CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
    ENTER(Call::context | Call::poisoned_too);
    if (address == 0) return CUDA_ERROR_INVALID_VALUE;
    const auto found = state().memory.find(address);
    if (found == state().memory.end() || found->second->kind != Allocation::device) {
        if (const Ref<Allocation> gone = allocation_gone_at(address); gone != nullptr && gone->base == address)
            violation("double-free", call.name, "%s was freed by %s", describe(*gone).c_str(), gone->freed);
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Ref<Allocation> allocation = found->second;
    if (call.current->error != CUDA_SUCCESS) {
        remove_allocation(allocation, call.name);
        return call.current->error;
    }
    const Ref<Stream> stream = stream_of(call, handle, For::work);
    if (stream == nullptr) return call.result;
    remove_allocation(allocation, call.name);
    Shape whole;
    whole.begin = allocation->base;
    whole.width = allocation->bytes;
    enqueue(call, stream, {{allocation, whole, Touch::ends}}, [allocation](CUresult *) {
        const std::lock_guard<std::mutex> lock(state().lock);
        release_allocation(allocation);
        if (allocation->pool != nullptr) unuse(*allocation->pool, allocation->bytes);
        return Outcome::finished;
    });
    return CUDA_SUCCESS;
}

extern "C" CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props) {
    ENTER(Call::initialised);
    if (pool == nullptr || props == nullptr || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED || props->handleTypes != 0 ||
        props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    if (device_of(call, props->location.id) == nullptr) return call.result;
    const Ref<Pool> made = std::make_shared<Pool>();
    made->handle = new_handle(Handle::pool);
    made->ordinal = props->location.id;
    made->is_default = false;
    made->maximum = props->maxSize;
    state().pools[made->handle] = made;
    *pool = reinterpret_cast<CUmemoryPool>(made->handle);
    return CUDA_SUCCESS;
}

// What was allocated from it lives on, as in the real driver.
extern "C" CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    ENTER(Call::initialised);
    const Ref<Pool> found = pool_of(call, pool);
    if (found == nullptr) return call.result;
    if (found->is_default) return CUDA_ERROR_INVALID_VALUE;
    state().pools.erase(found->handle);
    Device &device = *state().devices[static_cast<size_t>(found->ordinal)];
    if (device.pool == found) device.pool = device.default_pool;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
    ENTER(Call::initialised);
    const Ref<Pool> found = pool_of(call, pool);
    if (found == nullptr) return call.result;
    found->reserved = std::max(found->used, std::min<uint64_t>(found->reserved, keep));
    return CUDA_SUCCESS;
}

extern "C" CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, void *value) {
    ENTER(Call::initialised);
    const Ref<Pool> found = pool_of(call, pool);
    if (found == nullptr) return call.result;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        found->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = *static_cast<int *>(value);
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: found->threshold = *static_cast<uint64_t *>(value); return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        if (*static_cast<uint64_t *>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
        if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH) {
            found->used_high = found->used;
        } else {
            found->reserved_high = found->reserved;
        }
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

extern "C" CUresult cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void *value) {
    ENTER(Call::initialised);
    const Ref<Pool> found = pool_of(call, pool);
    if (found == nullptr) return call.result;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    uint64_t *const wide = static_cast<uint64_t *>(value);
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        *static_cast<int *>(value) = found->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: *wide = found->threshold; return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: *wide = found->reserved; return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: *wide = found->reserved_high; return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *wide = found->used; return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *wide = found->used_high; return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

extern "C" CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count) {
    ENTER(Call::initialised);
    const Ref<Pool> found = pool_of(call, pool);
    if (found == nullptr) return call.result;
    if (map == nullptr && count != 0) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
        const CUmemLocation at = map[i].location;
        if (at.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
        if (device_of(call, at.id) == nullptr) return call.result;
        if (map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
            found->readers.insert(at.id);
        } else if (at.id == found->ordinal) {
            return CUDA_ERROR_INVALID_VALUE;
        } else {
            found->readers.erase(at.id);
        }
    }
    return CUDA_SUCCESS;
}

extern "C" CUresult cuMemPoolGetAccess(int *flags, CUmemoryPool pool, CUmemLocation *location) {
    ENTER(Call::initialised);
    const Ref<Pool> found = pool_of(call, pool);
    if (found == nullptr) return call.result;
    if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const bool reaches = location->id == found->ordinal || found->readers.count(location->id) != 0;
    *flags = reaches ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) {
    ENTER(Call::initialised);
    const Ref<Device> found = device_of(call, device);
    if (found == nullptr) return call.result;
    if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *pool = reinterpret_cast<CUmemoryPool>(found->default_pool->handle);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device) {
    ENTER(Call::initialised);
    const Ref<Device> found = device_of(call, device);
    if (found == nullptr) return call.result;
    if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *pool = reinterpret_cast<CUmemoryPool>(found->pool->handle);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
    ENTER(Call::initialised);
    const Ref<Device> found = device_of(call, device);
    const Ref<Pool> set = pool_of(call, pool);
    if (found == nullptr || set == nullptr) return call.result;
    if (set->ordinal != device) return CUDA_ERROR_INVALID_VALUE;
    found->pool = set;
    return CUDA_SUCCESS;
}
