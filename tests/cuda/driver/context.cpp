// Contexts: primary ones and others, and which is current on a thread.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "call.hpp"

namespace standin {

static void start(const Ref<Context> &context) {
    context->alive = true;
    context->legacy = new_stream(context, CU_STREAM_DEFAULT, 0);
    context->legacy->legacy = true;
}

static Ref<Context> add_context(const Device &device, bool primary, unsigned flags) {
    State &s = state();
    const Ref<Context> context = std::make_shared<Context>();
    context->handle = new_handle(Handle::context);
    context->id = ++s.last_id;
    context->ordinal = device.ordinal;
    context->primary = primary;
    context->flags = flags;
    s.contexts[context->handle] = context;
    start(context);
    return context;
}

// The end of a context: what is left in it is lost, which the checker calls a leak.
static void end_context(Call &call, const Ref<Context> &context) {
    State &s = state();
    report_leaks(context.get(), call.name);
    std::vector<Ref<Stream>> streams;
    for (const auto &[handle, stream] : s.streams)
        if (stream->context == context) streams.push_back(stream);
    for (const Ref<Stream> &stream : streams) {
        const CUresult before = call.result;
        wait_for_stream(call, stream);
        call.result = before;
        drop_stream(stream);
    }
    for (auto at = s.events.begin(); at != s.events.end();) at = at->second->context == context ? s.events.erase(at) : std::next(at);
    std::vector<Ref<Allocation>> memory;
    for (const auto &[base, allocation] : s.memory)
        if (allocation->context == context && allocation->kind != Allocation::pinned) memory.push_back(allocation);
    for (const Ref<Allocation> &allocation : memory) {
        remove_allocation(allocation, call.name);
        if (context->error == CUDA_SUCCESS) release_allocation(allocation);
    }
    context->alive = false;
}

static bool flags_are_valid(unsigned flags) { return (flags & 7U) <= 4 && (flags & ~0x1fU) == 0 && (flags & 3U) != 3; }

} // namespace standin

using namespace standin;

extern "C" CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    ENTER(Call::initialised);
    const Ref<Device> found = device_of(call, device);
    if (found == nullptr) return call.result;
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (found->primary == nullptr) found->primary = add_context(*found, true, found->primary_flags);
    if (found->primary->error != CUDA_SUCCESS) return found->primary->error;
    if (!found->primary->alive) start(found->primary);
    ++found->primary->retained;
    *context = reinterpret_cast<CUcontext>(found->primary->handle);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    ENTER(Call::initialised);
    const Ref<Device> found = device_of(call, device);
    if (found == nullptr) return call.result;
    if (found->primary == nullptr || found->primary->retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--found->primary->retained == 0) end_context(call, found->primary);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    ENTER(Call::initialised);
    const Ref<Device> found = device_of(call, device);
    if (found == nullptr) return call.result;
    if (found->primary != nullptr && found->primary->alive) end_context(call, found->primary);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
    ENTER(Call::initialised);
    const Ref<Device> found = device_of(call, device);
    if (found == nullptr) return call.result;
    if (!flags_are_valid(flags)) return CUDA_ERROR_INVALID_VALUE;
    found->primary_flags = flags;
    if (found->primary != nullptr) found->primary->flags = flags;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
    ENTER(Call::initialised);
    const Ref<Device> found = device_of(call, device);
    if (found == nullptr) return call.result;
    if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = found->primary_flags;
    *active = found->primary != nullptr && found->primary->alive;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device) {
    ENTER(Call::initialised);
    const Ref<Device> found = device_of(call, device);
    if (found == nullptr) return call.result;
    if (context == nullptr || !flags_are_valid(flags)) return CUDA_ERROR_INVALID_VALUE;
    const Ref<Context> made = add_context(*found, false, flags);
    context_stack().push_back(made);
    *context = reinterpret_cast<CUcontext>(made->handle);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuCtxDestroy_v2(CUcontext context) {
    ENTER(Call::initialised);
    const Ref<Context> found = context_of(call, context);
    if (found == nullptr) return call.result;
    if (found->primary) return CUDA_ERROR_INVALID_CONTEXT;
    end_context(call, found);
    if (!context_stack().empty() && context_stack().back() == found) context_stack().pop_back();
    return CUDA_SUCCESS;
}

extern "C" CUresult cuCtxPushCurrent_v2(CUcontext context) {
    ENTER(Call::initialised);
    const Ref<Context> found = context_of(call, context);
    if (found == nullptr) return call.result;
    context_stack().push_back(found);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuCtxPopCurrent_v2(CUcontext *context) {
    ENTER(Call::initialised);
    if (context_stack().empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (context != nullptr) *context = reinterpret_cast<CUcontext>(context_stack().back()->handle);
    context_stack().pop_back();
    return CUDA_SUCCESS;
}

extern "C" CUresult cuCtxSetCurrent(CUcontext context) {
    ENTER(Call::initialised);
    Ref<Context> found;
    if (context != nullptr) {
        found = context_of(call, context);
        if (found == nullptr) return call.result;
    }
    // It replaces the top of the stack; null pops it.
    if (!context_stack().empty()) context_stack().pop_back();
    if (found != nullptr) context_stack().push_back(found);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuCtxGetCurrent(CUcontext *context) {
    ENTER(Call::initialised);
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *context = call.current == nullptr ? nullptr : reinterpret_cast<CUcontext>(call.current->handle);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuCtxGetDevice(CUdevice *device) {
    ENTER(Call::initialised);
    // Without a context it only says so: it is how a program asks whether there is one.
    if (call.current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = call.current->ordinal;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuCtxGetFlags(unsigned *flags) {
    ENTER(Call::context);
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = call.current->flags;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuCtxSetFlags(unsigned flags) {
    ENTER(Call::context);
    if (!flags_are_valid(flags)) return CUDA_ERROR_INVALID_VALUE;
    call.current->flags = flags;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuCtxGetApiVersion(CUcontext context, unsigned *version) {
    ENTER(Call::initialised);
    if (context != nullptr && context_of(call, context) == nullptr) return call.result;
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *version = 3020;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuCtxGetId(CUcontext context, unsigned long long *id) {
    ENTER(Call::initialised);
    const Ref<Context> found = context == nullptr ? call.current : context_of(call, context);
    if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *id = found->id;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuCtxSynchronize(void) {
    ENTER(Call::context);
    std::vector<Ref<Stream>> streams;
    for (const auto &[handle, stream] : state().streams)
        if (stream->context == call.current) streams.push_back(stream);
    for (const Ref<Stream> &stream : streams) {
        wait_for_stream(call, stream);
        if (call.failed()) return call.result;
    }
    return CUDA_SUCCESS;
}

extern "C" CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    ENTER(Call::context);
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuCtxGetLimit(size_t *value, int limit) {
    ENTER(Call::context);
    if (value == nullptr || limit < 0) return CUDA_ERROR_INVALID_VALUE;
    *value = 0;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuCtxSetLimit(int limit, size_t) {
    ENTER(Call::context);
    return limit < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

extern "C" CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
    ENTER(Call::context);
    const Ref<Context> found = context_of(call, peer);
    if (found == nullptr) return call.result;
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (found->ordinal == call.current->ordinal) return CUDA_ERROR_INVALID_DEVICE;
    return call.current->peers.insert(found->handle).second ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

extern "C" CUresult cuCtxDisablePeerAccess(CUcontext peer) {
    ENTER(Call::context);
    const Ref<Context> found = context_of(call, peer);
    if (found == nullptr) return call.result;
    return call.current->peers.erase(found->handle) != 0 ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
