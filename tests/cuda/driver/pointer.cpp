// What the driver says of an address.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "call.hpp"

#include <cstring>

namespace standin {

template <class T> static CUresult put(void *to, T value) {
    memcpy(to, &value, sizeof value);
    return CUDA_SUCCESS;
}

// For null the values that cuPointerGetAttributes gives for memory unknown to the driver.
static CUresult tell(const Allocation *a, uint64_t address, int attribute, void *to) {
    const bool on_device = a != nullptr && (a->kind == Allocation::device || a->kind == Allocation::managed);
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return put(to, a != nullptr && a->pool == nullptr ? a->context->handle : uint64_t{0});
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return put(to, a == nullptr ? 0u : on_device ? unsigned{CU_MEMORYTYPE_DEVICE} : unsigned{CU_MEMORYTYPE_HOST});
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return put(to, a != nullptr ? address : uint64_t{0});
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (a != nullptr && a->kind == Allocation::device) {
            put(to, uint64_t{0});
            return CUDA_ERROR_INVALID_VALUE;
        }
        return put(to, a != nullptr ? address : uint64_t{0});
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: return put(to, 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: return put(to, static_cast<unsigned long long>(a != nullptr ? a->id : 0));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return put(to, static_cast<int>(a != nullptr && a->kind == Allocation::managed));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return put(to, a != nullptr ? a->ordinal : -2);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: return put(to, 0);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return put(to, a != nullptr ? a->base : uint64_t{0});
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return put(to, static_cast<size_t>(a != nullptr ? a->bytes : 0));
    case CU_POINTER_ATTRIBUTE_MAPPED: return put(to, static_cast<int>(a != nullptr));
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: return put(to, uint64_t{0});
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: return put(to, 0);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: return put(to, on_device ? 3 : 0);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        return put(to, a != nullptr && a->pool != nullptr ? a->pool->handle : uint64_t{0});
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

} // namespace standin

using namespace standin;

extern "C" CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr address) {
    ENTER(Call::initialised);
    const Ref<Allocation> found = allocation_at(address);
    if (value == nullptr || found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return tell(found.get(), address, attribute, value);
}

extern "C" CUresult cuPointerGetAttributes(unsigned count, int *attributes, void **values, CUdeviceptr address) {
    ENTER(Call::initialised);
    if (attributes == nullptr || values == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Ref<Allocation> found = allocation_at(address);
    for (unsigned i = 0; i < count; ++i) {
        // That an address has no host pointer is an answer here.
        if (tell(found.get(), address, attributes[i], values[i]) != CUDA_SUCCESS &&
            attributes[i] != CU_POINTER_ATTRIBUTE_HOST_POINTER)
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

extern "C" CUresult cuPointerSetAttribute(const void *value, int attribute, CUdeviceptr address) {
    ENTER(Call::initialised);
    if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || allocation_at(address) == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}
