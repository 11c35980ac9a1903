// Devices: how many, what they are called and what they can do.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "call.hpp"

#include <cstdio>
#include <cstring>

namespace standin {

static CUuuid device_uuid(int physical) {
    // Printed: GPU-5ad0000N-0000-4000-8000-00000000000N.
    CUuuid uuid;
    memset(&uuid, 0, sizeof uuid);
    uuid.bytes[0] = 0x5a;
    uuid.bytes[1] = static_cast<char>(0xd0);
    uuid.bytes[3] = uuid.bytes[15] = static_cast<char>(physical);
    uuid.bytes[6] = 0x40;
    uuid.bytes[8] = static_cast<char>(0x80);
    return uuid;
}

void make_devices() {
    State &s = state();
    for (const int physical : settings().visible) {
        const Ref<Device> device = std::make_shared<Device>();
        device->ordinal = static_cast<int>(s.devices.size());
        device->physical = physical;
        device->uuid = device_uuid(physical);
        device->memory = settings().memory_bytes;
        const Ref<Pool> pool = std::make_shared<Pool>();
        pool->handle = new_handle(Handle::pool);
        pool->ordinal = device->ordinal;
        pool->is_default = true;
        s.pools[pool->handle] = pool;
        device->default_pool = device->pool = pool;
        s.devices.push_back(device);
    }
}

static bool attribute_of(const Device &device, int attribute, int *value) {
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: *value = 64; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *value = 2147483647; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *value = 65535; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = 49152; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = 232448; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: *value = 233472; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH: *value = 2147483647; break;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: *value = 65536; break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: *value = 1000000; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 4; break;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: *value = 3; break;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: *value = device.physical + 1; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 9; break;
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID: *value = -1; break;
    case CU_DEVICE_ATTRIBUTE_NUMA_ID: *value = -1; break;
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR: *value = 1; break;
    default:
        // Everything else, known or not, is absent here.
        if (attribute < 1) return false;
        *value = 0;
    }
    return true;
}

} // namespace standin

using namespace standin;

extern "C" CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    ENTER(Call::initialised);
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (device_of(call, ordinal) == nullptr) return call.result;
    *device = ordinal;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuDeviceGetCount(int *count) {
    ENTER(Call::initialised);
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<int>(state().devices.size());
    return CUDA_SUCCESS;
}

extern "C" CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
    ENTER(Call::initialised);
    if (name == nullptr || length < 1) return CUDA_ERROR_INVALID_VALUE;
    const Ref<Device> found = device_of(call, device);
    if (found == nullptr) return call.result;
    snprintf(name, static_cast<size_t>(length), "stand-in device %d", found->physical);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
    ENTER(Call::initialised);
    if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Ref<Device> found = device_of(call, device);
    if (found == nullptr) return call.result;
    *uuid = found->uuid;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }

extern "C" CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    ENTER(Call::initialised);
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Ref<Device> found = device_of(call, device);
    if (found == nullptr) return call.result;
    *bytes = found->memory;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    ENTER(Call::initialised);
    const Ref<Device> found = device_of(call, device);
    if (found == nullptr) return call.result;
    if (value == nullptr || !attribute_of(*found, attribute, value)) return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuDeviceGetPCIBusId(char *text, int length, CUdevice device) {
    ENTER(Call::initialised);
    const Ref<Device> found = device_of(call, device);
    if (found == nullptr) return call.result;
    if (text == nullptr || length < 13) return CUDA_ERROR_INVALID_VALUE;
    snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0", static_cast<unsigned>(found->physical + 1) & 255U);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *text) {
    ENTER(Call::initialised);
    unsigned domain = 0, bus = 0;
    if (device == nullptr || text == nullptr || sscanf(text, "%x:%x", &domain, &bus) != 2) return CUDA_ERROR_INVALID_VALUE;
    for (const Ref<Device> &found : state().devices)
        if (static_cast<unsigned>(found->physical + 1) == bus) {
            *device = found->ordinal;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_DEVICE;
}

extern "C" CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    ENTER(Call::initialised);
    if (device_of(call, device) == nullptr || device_of(call, peer) == nullptr) return call.result;
    if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *can = device != peer;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuDeviceGetP2PAttribute(int *value, int attribute, CUdevice device, CUdevice peer) {
    ENTER(Call::initialised);
    if (device_of(call, device) == nullptr || device_of(call, peer) == nullptr) return call.result;
    if (value == nullptr || device == peer || attribute < 1 || attribute > 4) return CUDA_ERROR_INVALID_VALUE;
    *value = attribute == 1 ? 0 : 1; // 1: the rank of speed, best first
    return CUDA_SUCCESS;
}
