// Memory: the window of addresses of each device, pinned and registered host memory, and the way from an address to
// what lies there.
//
// A device's memory is mapped twice: the window that the program sees may not be touched by the host, so that a host
// access to a device pointer ends the program as it should; the driver reads and writes the shadow. Fresh and freed
// memory is filled with a pattern, so that a stale read shows.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "call.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>

namespace standin {

namespace {

constexpr uint64_t grain = 512;                // alignment of device addresses, and the gap between two allocations
constexpr uint64_t pattern_bytes = 1 << 20;    // of a large allocation only so much at either end
constexpr unsigned char fresh = 0xc7, freed = 0xdb;

uint64_t rounded(uint64_t bytes) { return (bytes + grain - 1) / grain * grain + grain; }

void fill_with(char *at, uint64_t bytes, unsigned char pattern) {
    memset(at, pattern, std::min(bytes, pattern_bytes));
    if (bytes > pattern_bytes) memset(at + bytes - pattern_bytes, pattern, pattern_bytes);
}

Ref<Allocation> in_table(const std::map<uint64_t, Ref<Allocation>> &table, uint64_t address) {
    auto at = table.upper_bound(address);
    if (at == table.begin()) return nullptr;
    --at;
    // A pointer just past the end belongs to nothing, that of an empty allocation to itself.
    if (address >= at->second->base + std::max<uint64_t>(at->second->bytes, 1)) return nullptr;
    return at->second;
}

void map_window(Device &device) {
    // Gaps and fragments need addresses beyond the device's bytes.
    device.span = 2 * device.memory + (64 << 20);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *window = mmap(nullptr, device.span, PROT_NONE, flags, -1, 0);
    void *shadow = mmap(nullptr, device.span, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (window == MAP_FAILED || shadow == MAP_FAILED) {
        perror("standin: cannot reserve addresses for a device (STANDIN_MEMORY)");
        abort();
    }
    device.window = reinterpret_cast<uint64_t>(window);
    device.shadow = reinterpret_cast<uint64_t>(shadow);
    device.holes[device.window] = device.window + device.span;
}

CUresult allocate_device(Call &call, uint64_t bytes, CUdeviceptr *address) {
    if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    Device &device = *state().devices[static_cast<size_t>(call.current->ordinal)];
    if (bytes > device.memory - std::min(device.used, device.memory)) return CUDA_ERROR_OUT_OF_MEMORY;
    const uint64_t base = window_allocate(device, bytes);
    if (base == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    device.used += bytes;
    add_allocation({Allocation::device, base, bytes, 0, 0, call.current, device.ordinal, nullptr, call.name, nullptr, {}});
    *address = base;
    return CUDA_SUCCESS;
}

CUresult allocate_host(Call &call, Allocation::Kind kind, uint64_t bytes, unsigned flags, uint64_t *address) {
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    fill_with(static_cast<char *>(memory), bytes, fresh);
    *address = reinterpret_cast<uint64_t>(memory);
    add_allocation({kind, *address, bytes, 0, flags, call.current, call.current->ordinal, nullptr, call.name, nullptr, {}});
    return CUDA_SUCCESS;
}

// The allocation that begins at `address`, of one of two kinds; else reports what it is instead.
Ref<Allocation> to_free(Call &call, uint64_t address, Allocation::Kind kind, Allocation::Kind or_kind) {
    const auto found = state().memory.find(address);
    if (found != state().memory.end() && (found->second->kind == kind || found->second->kind == or_kind)) return found->second;
    if (const Ref<Allocation> gone = allocation_gone_at(address); gone != nullptr && gone->base == address)
        violation("double-free", call.name, "%s was freed by %s", describe(*gone).c_str(), gone->freed);
    call.fail(CUDA_ERROR_INVALID_VALUE);
    return nullptr;
}

} // namespace

uint64_t window_allocate(Device &device, uint64_t bytes) {
    if (device.window == 0) map_window(device);
    const uint64_t needed = rounded(bytes);
    for (auto &[begin, end] : device.holes) {
        if (end - begin < needed) continue;
        const uint64_t base = begin, hole_end = end;
        device.holes.erase(base);
        if (hole_end - base > needed) device.holes[base + needed] = hole_end;
        fill_with(reinterpret_cast<char *>(base - device.window + device.shadow), bytes, fresh);
        return base;
    }
    return 0;
}

void window_free(Device &device, uint64_t base, uint64_t bytes) {
    char *real = reinterpret_cast<char *>(base - device.window + device.shadow);
    if (bytes > 4 * pattern_bytes) {
        const uint64_t page = 4096;
        const uint64_t begin = (reinterpret_cast<uint64_t>(real) + page - 1) / page * page;
        const uint64_t end = (reinterpret_cast<uint64_t>(real) + bytes) / page * page;
        madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
    }
    fill_with(real, bytes, freed);
    uint64_t begin = base, end = base + rounded(bytes);
    auto after = device.holes.lower_bound(begin);
    if (after != device.holes.end() && after->first == end) {
        end = after->second;
        after = device.holes.erase(after);
    }
    if (after != device.holes.begin()) {
        const auto before = std::prev(after);
        if (before->second == begin) {
            before->second = end;
            return;
        }
    }
    device.holes[begin] = end;
}

Ref<Device> device_with_window(uint64_t address) {
    for (const Ref<Device> &device : state().devices)
        if (address >= device->window && address < device->window + device->span) return device;
    return nullptr;
}

Ref<Allocation> allocation_at(uint64_t address) { return in_table(state().memory, address); }
Ref<Allocation> allocation_gone_at(uint64_t address) { return in_table(state().gone, address); }

char *real_address(const Allocation &allocation, uint64_t address) {
    if (allocation.kind != Allocation::device) return reinterpret_cast<char *>(address);
    const Device &device = *state().devices[static_cast<size_t>(allocation.ordinal)];
    return reinterpret_cast<char *>(address - device.window + device.shadow);
}

Ref<Allocation> add_allocation(Allocation allocation) {
    State &s = state();
    allocation.id = ++s.last_id;
    const Ref<Allocation> added = std::make_shared<Allocation>(std::move(allocation));
    // What was freed here and is now covered cannot be told any more.
    const uint64_t end = added->base + added->bytes;
    auto at = s.gone.lower_bound(added->base);
    if (at != s.gone.begin() && std::prev(at)->second->base + std::prev(at)->second->bytes > added->base) --at;
    while (at != s.gone.end() && at->first < end) at = s.gone.erase(at);
    s.memory[added->base] = added;
    return added;
}

void remove_allocation(const Ref<Allocation> &allocation, const char *call) {
    State &s = state();
    allocation->freed = call;
    s.memory.erase(allocation->base);
    s.gone[allocation->base] = allocation;
    if (s.gone.size() > 4096) s.gone.erase(s.gone.begin());
}

void release_allocation(const Ref<Allocation> &allocation) {
    allocation->accesses.clear();
    if (allocation->kind == Allocation::device) {
        Device &device = *state().devices[static_cast<size_t>(allocation->ordinal)];
        device.used -= allocation->bytes;
        window_free(device, allocation->base, allocation->bytes);
    } else if (allocation->kind != Allocation::registered) {
        munmap(reinterpret_cast<void *>(allocation->base), allocation->bytes);
    }
}

CUresult find_range(Call &call, Side side, const Shape &at, Touch touch, Use *use, char **real) {
    *use = {nullptr, at, touch};
    *real = reinterpret_cast<char *>(at.begin);
    if (at.width == 0 || at.rows == 0 || at.slices == 0) {
        use->at.width = 0;
        return CUDA_SUCCESS;
    }
    const uint64_t end = at.end();
    const Ref<Allocation> found = allocation_at(at.begin);
    if (found != nullptr) {
        if (side == Side::host && found->kind == Allocation::device) return CUDA_ERROR_INVALID_VALUE;
        if (end > found->base + found->bytes) {
            // Registered memory lies in the midst of pageable memory.
            if (found->kind == Allocation::registered && side != Side::device) return CUDA_SUCCESS;
            return CUDA_ERROR_INVALID_VALUE;
        }
        use->in = found;
        *real = real_address(*found, at.begin);
        return CUDA_SUCCESS;
    }
    if (const Ref<Allocation> gone = allocation_gone_at(at.begin); gone != nullptr && gone->kind != Allocation::registered) {
        violation("use-after-free", call.name, "%s, freed by %s", describe(*gone).c_str(), gone->freed);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (side == Side::device || device_with_window(at.begin) != nullptr) return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

} // namespace standin

using namespace standin;

extern "C" CUresult cuMemGetInfo_v2(size_t *available, size_t *total) {
    ENTER(Call::context);
    if (available == nullptr || total == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Device &device = *state().devices[static_cast<size_t>(call.current->ordinal)];
    *available = device.memory - std::min(device.used, device.memory);
    *total = device.memory;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
    ENTER(Call::context);
    return allocate_device(call, bytes, address);
}

extern "C" CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element) {
    ENTER(Call::context);
    if (pitch == nullptr || (element != 4 && element != 8 && element != 16)) return CUDA_ERROR_INVALID_VALUE;
    const size_t wide = (width + grain - 1) / grain * grain;
    const CUresult result = allocate_device(call, wide * height, address);
    if (result == CUDA_SUCCESS) *pitch = wide;
    return result;
}

extern "C" CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags) {
    ENTER(Call::context);
    if (address == nullptr || (flags != CU_MEM_ATTACH_GLOBAL && flags != 2)) return CUDA_ERROR_INVALID_VALUE;
    uint64_t base = 0;
    const CUresult result = allocate_host(call, Allocation::managed, bytes, flags, &base);
    if (result == CUDA_SUCCESS) *address = base;
    return result;
}

extern "C" CUresult cuMemFree_v2(CUdeviceptr address) {
    ENTER(Call::context | Call::poisoned_too);
    if (address == 0) return CUDA_SUCCESS;
    const Ref<Allocation> allocation = to_free(call, address, Allocation::device, Allocation::managed);
    if (allocation == nullptr) return call.result;
    if (allocation->context != call.current)
        violation("wrong-context", call.name, "%s is of device %d, the current context of device %d",
                  describe(*allocation).c_str(), allocation->ordinal, call.current->ordinal);
    if (allocation->context->error == CUDA_SUCCESS) expect_seen(*allocation, "memory-in-use", call.name);
    const bool poisoned = allocation->context->error != CUDA_SUCCESS;
    remove_allocation(allocation, call.name);
    // In a poisoned context kernels may still be running to their end; the bytes stay.
    if (!poisoned) {
        // As the real driver does. Without a violation there is nothing to wait for.
        for (const Access &access : std::vector<Access>(allocation->accesses)) wait_for(call, access.by);
        release_allocation(allocation);
        if (allocation->pool != nullptr) allocation->pool->used -= std::min(allocation->pool->used, allocation->bytes);
    }
    return allocation->context->error;
}

extern "C" CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address) {
    ENTER(Call::context);
    const Ref<Allocation> found = allocation_at(address);
    if (found == nullptr) return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr) *base = found->base;
    if (bytes != nullptr) *bytes = found->bytes;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned flags) {
    ENTER(Call::context);
    if (address == nullptr || flags > 7) return CUDA_ERROR_INVALID_VALUE;
    uint64_t base = 0;
    const CUresult result = allocate_host(call, Allocation::pinned, bytes, flags, &base);
    if (result == CUDA_SUCCESS) *address = reinterpret_cast<void *>(base);
    return result;
}

extern "C" CUresult cuMemAllocHost_v2(void **address, size_t bytes) {
    ENTER(Call::context);
    if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
    uint64_t base = 0;
    const CUresult result = allocate_host(call, Allocation::pinned, bytes, 0, &base);
    if (result == CUDA_SUCCESS) *address = reinterpret_cast<void *>(base);
    return result;
}

extern "C" CUresult cuMemFreeHost(void *address) {
    ENTER(Call::context | Call::poisoned_too);
    if (address == nullptr) return CUDA_SUCCESS;
    const Ref<Allocation> allocation =
        to_free(call, reinterpret_cast<uint64_t>(address), Allocation::pinned, Allocation::pinned);
    if (allocation == nullptr) return call.result;
    const bool poisoned = allocation->context->error != CUDA_SUCCESS;
    if (!poisoned) expect_seen(*allocation, "host-memory-in-use", call.name);
    remove_allocation(allocation, call.name);
    if (!poisoned) {
        for (const Access &access : std::vector<Access>(allocation->accesses)) wait_for(call, access.by);
        release_allocation(allocation);
    }
    return allocation->context->error;
}

extern "C" CUresult cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags) {
    ENTER(Call::context);
    const uint64_t base = reinterpret_cast<uint64_t>(host);
    if (host == nullptr || bytes == 0 || flags > 15 || device_with_window(base) != nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (auto at = state().memory.begin(); at != state().memory.end(); ++at)
        if (at->first < base + bytes && base < at->first + at->second->bytes)
            return at->second->kind == Allocation::device ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    add_allocation({Allocation::registered, base, bytes, 0, flags, call.current, call.current->ordinal, nullptr, call.name,
                    nullptr, {}});
    return CUDA_SUCCESS;
}

extern "C" CUresult cuMemHostUnregister(void *host) {
    ENTER(Call::context | Call::poisoned_too);
    const auto found = state().memory.find(reinterpret_cast<uint64_t>(host));
    if (found == state().memory.end() || found->second->kind != Allocation::registered)
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    const Ref<Allocation> allocation = found->second;
    if (allocation->context->error == CUDA_SUCCESS) expect_seen(*allocation, "host-memory-in-use", call.name);
    remove_allocation(allocation, call.name);
    return allocation->context->error;
}

extern "C" CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *host, unsigned flags) {
    ENTER(Call::context);
    const Ref<Allocation> found = allocation_at(reinterpret_cast<uint64_t>(host));
    if (device == nullptr || flags != 0 || found == nullptr || found->kind == Allocation::device) return CUDA_ERROR_INVALID_VALUE;
    *device = reinterpret_cast<uint64_t>(host);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuMemHostGetFlags(unsigned *flags, void *host) {
    ENTER(Call::context);
    const Ref<Allocation> found = allocation_at(reinterpret_cast<uint64_t>(host));
    if (flags == nullptr || found == nullptr || (found->kind != Allocation::pinned && found->kind != Allocation::registered))
        return CUDA_ERROR_INVALID_VALUE;
    *flags = found->flags;
    return CUDA_SUCCESS;
}
