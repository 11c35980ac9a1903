// Streams, and what is queued on them besides copies, fills and kernels: host functions and values.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "call.hpp"

namespace standin {

// Queued for the host to run. It may tell the host that all before it is complete, so the checker takes it as told.
static CUresult enqueue_host(Call &call, CUstream handle, std::function<void()> function) {
    const Ref<Stream> stream = stream_of(call, handle, For::work);
    if (stream == nullptr) return call.result;
    enqueue(
        call, stream, {},
        [function](CUresult *) {
            inside_device_code = "a host function";
            function();
            inside_device_code = nullptr;
            return Outcome::finished;
        },
        nullptr, true);
    return CUDA_SUCCESS;
}

template <class Value> static CUresult enqueue_write(Call &call, CUstream handle, CUdeviceptr address, Value value, unsigned flags) {
    const Ref<Stream> stream = stream_of(call, handle, For::work);
    if (stream == nullptr) return call.result;
    if (flags > 1 || address % sizeof(Value) != 0) return CUDA_ERROR_INVALID_VALUE;
    Shape at;
    at.begin = address;
    at.width = sizeof(Value);
    Use use;
    char *real = nullptr;
    // Not as a write for the race rule: flags are there to be read at any time.
    if (const CUresult bad = find_range(call, Side::device, at, Touch::unknown, &use, &real); bad != CUDA_SUCCESS) return bad;
    enqueue(
        call, stream, {use},
        [real, value](CUresult *) {
            __atomic_store_n(reinterpret_cast<Value *>(real), value, __ATOMIC_RELEASE);
            return Outcome::finished;
        },
        nullptr, true);
    return CUDA_SUCCESS;
}

template <class Value> static CUresult enqueue_wait(Call &call, CUstream handle, CUdeviceptr address, Value value, unsigned flags) {
    const Ref<Stream> stream = stream_of(call, handle, For::work);
    if (stream == nullptr) return call.result;
    flags &= ~(1U << 30); // flush of remote writes: nothing to do here
    if (flags > CU_STREAM_WAIT_VALUE_NOR || address % sizeof(Value) != 0) return CUDA_ERROR_INVALID_VALUE;
    Shape at;
    at.begin = address;
    at.width = sizeof(Value);
    Use use;
    char *real = nullptr;
    if (const CUresult bad = find_range(call, Side::device, at, Touch::unknown, &use, &real); bad != CUDA_SUCCESS) return bad;
    const Ref<Operation> gate = enqueue(call, stream, {use}, [real, value, flags](CUresult *) {
        const Value now = __atomic_load_n(reinterpret_cast<Value *>(real), __ATOMIC_ACQUIRE);
        bool holds = false;
        switch (flags) {
        case CU_STREAM_WAIT_VALUE_GEQ: holds = static_cast<std::make_signed_t<Value>>(now - value) >= 0; break;
        case CU_STREAM_WAIT_VALUE_EQ: holds = now == value; break;
        case CU_STREAM_WAIT_VALUE_AND: holds = (now & value) != 0; break;
        default: holds = static_cast<Value>(~(now | value)) != 0;
        }
        return holds ? Outcome::finished : Outcome::again;
    });
    if (!gate->done) stream->gates.push_back(gate);
    return CUDA_SUCCESS;
}

static CUresult create(Call &call, CUstream *stream, unsigned flags, int priority, bool with_priority) {
    if (stream == nullptr || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    const Ref<Stream> made = new_stream(call.current, flags, std::min(0, std::max(-5, priority)));
    made->with_priority = with_priority;
    *stream = reinterpret_cast<CUstream>(made->handle);
    return CUDA_SUCCESS;
}

} // namespace standin

using namespace standin;

extern "C" CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    ENTER(Call::context);
    return create(call, stream, flags, 0, false);
}

extern "C" CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
    ENTER(Call::context);
    return create(call, stream, flags, priority, true);
}

extern "C" CUresult cuStreamDestroy_v2(CUstream handle) {
    ENTER(Call::context | Call::poisoned_too);
    if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) return CUDA_ERROR_INVALID_HANDLE;
    const Ref<Stream> stream = stream_of(call, handle, For::work);
    if (stream == nullptr) {
        // Poisoned: it goes all the same, but for the error.
        state().streams.erase(reinterpret_cast<uint64_t>(handle));
        return call.result;
    }
    if (!stream_is_seen_idle(*stream))
        violation("stream-destroyed-busy", call.name, "%s has work that was not seen complete", describe(*stream).c_str());
    drop_stream(stream);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuStreamQuery(CUstream handle) {
    ENTER(Call::context);
    const Ref<Stream> stream = stream_of(call, handle, For::look);
    if (stream == nullptr) return call.result;
    if (stream->tail != nullptr) return CUDA_ERROR_NOT_READY;
    see(stream->clock);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuStreamSynchronize(CUstream handle) {
    ENTER(Call::context);
    const Ref<Stream> stream = stream_of(call, handle, For::look);
    if (stream == nullptr) return call.result;
    wait_for_stream(call, stream);
    return call.result;
}

extern "C" CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned flags) {
    ENTER(Call::context);
    const Ref<Event> event = event_of(call, event_handle);
    const Ref<Stream> stream = event == nullptr ? nullptr : stream_of(call, handle, For::work);
    if (stream == nullptr) return call.result;
    if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
    if (event->recorded == nullptr) {
        violation("event-not-recorded", call.name, "%s waits for %s, which was never recorded: it waits for nothing",
                  describe(*stream).c_str(), describe(*event).c_str());
        return CUDA_SUCCESS;
    }
    enqueue(call, stream, {}, nullptr, event->recorded);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuStreamGetCtx(CUstream handle, CUcontext *context) {
    ENTER(Call::context);
    const Ref<Stream> stream = stream_of(call, handle, For::look);
    if (stream == nullptr) return call.result;
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *context = reinterpret_cast<CUcontext>(stream->context->handle);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuStreamGetDevice(CUstream handle, CUdevice *device) {
    ENTER(Call::context);
    const Ref<Stream> stream = stream_of(call, handle, For::look);
    if (stream == nullptr) return call.result;
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = stream->context->ordinal;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuStreamGetFlags(CUstream handle, unsigned *flags) {
    ENTER(Call::context);
    const Ref<Stream> stream = stream_of(call, handle, For::look);
    if (stream == nullptr) return call.result;
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = stream->flags;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuStreamGetPriority(CUstream handle, int *priority) {
    ENTER(Call::context);
    const Ref<Stream> stream = stream_of(call, handle, For::look);
    if (stream == nullptr) return call.result;
    if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *priority = stream->priority;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuStreamGetId(CUstream handle, unsigned long long *id) {
    ENTER(Call::context);
    const Ref<Stream> stream = stream_of(call, handle, For::look);
    if (stream == nullptr) return call.result;
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *id = stream->id;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuStreamIsCapturing(CUstream handle, int *status) {
    ENTER(Call::context);
    if (stream_of(call, handle, For::look) == nullptr) return call.result;
    if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
    ENTER(Call::initialised);
    static thread_local int own = 0;
    if (mode == nullptr || *mode < 0 || *mode > 2) return CUDA_ERROR_INVALID_VALUE;
    std::swap(own, *mode);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *arg) {
    ENTER(Call::context);
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return enqueue_host(call, stream, [function, arg] { function(arg); });
}

extern "C" CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback function, void *arg, unsigned flags) {
    ENTER(Call::context);
    if (function == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return enqueue_host(call, stream, [=] { function(stream, CUDA_SUCCESS, arg); });
}

extern "C" CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags) {
    ENTER(Call::context);
    return enqueue_write(call, stream, address, value, flags);
}
extern "C" CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags) {
    return cuStreamWriteValue32_v2(stream, address, value, flags);
}
extern "C" CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags) {
    ENTER(Call::context);
    return enqueue_write(call, stream, address, value, flags);
}
extern "C" CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags) {
    return cuStreamWriteValue64_v2(stream, address, value, flags);
}
extern "C" CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags) {
    ENTER(Call::context);
    return enqueue_wait(call, stream, address, value, flags);
}
extern "C" CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags) {
    return cuStreamWaitValue32_v2(stream, address, value, flags);
}
extern "C" CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags) {
    ENTER(Call::context);
    return enqueue_wait(call, stream, address, value, flags);
}
extern "C" CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags) {
    return cuStreamWaitValue64_v2(stream, address, value, flags);
}
