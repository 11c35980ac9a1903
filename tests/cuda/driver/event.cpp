// Events: marks in streams.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "call.hpp"

namespace standin {

static CUresult record(Call &call, CUevent event_handle, CUstream handle) {
    const Ref<Event> event = event_of(call, event_handle);
    const Ref<Stream> stream = event == nullptr ? nullptr : stream_of(call, handle, For::work);
    if (stream == nullptr) return call.result;
    if (event->context != stream->context) {
        violation("wrong-context", call.name, "%s recorded on %s", describe(*event).c_str(), describe(*stream).c_str());
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (event->recorded != nullptr && !seen(event->recorded))
        violation("event-reused", call.name, "%s is recorded again before its last recording was seen complete",
                  describe(*event).c_str());
    event->recorded = enqueue(call, stream, {}, nullptr);
    stream->recorded = true;
    return CUDA_SUCCESS;
}

// Of an event that was never recorded every question is answered with yes, which nobody can have meant.
static bool recorded(Call &call, const Event &event) {
    if (event.recorded != nullptr) return true;
    violation("event-not-recorded", call.name, "%s was never recorded: it counts as complete", describe(event).c_str());
    return false;
}

static CUresult elapsed(Call &call, float *milliseconds, CUevent start_handle, CUevent end_handle) {
    const Ref<Event> start = event_of(call, start_handle);
    const Ref<Event> end = start == nullptr ? nullptr : event_of(call, end_handle);
    if (end == nullptr) return call.result;
    if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!recorded(call, *start) || !recorded(call, *end)) return CUDA_ERROR_INVALID_HANDLE;
    if (((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0 || start->context != end->context)
        return CUDA_ERROR_INVALID_HANDLE;
    if (start->context->error != CUDA_SUCCESS) return start->context->error;
    if (!start->recorded->done || !end->recorded->done) return CUDA_ERROR_NOT_READY;
    *milliseconds = static_cast<float>(end->recorded->finished_ns - start->recorded->finished_ns) * 1e-6f;
    return CUDA_SUCCESS;
}

} // namespace standin

using namespace standin;

extern "C" CUresult cuEventCreate(CUevent *event, unsigned flags) {
    ENTER(Call::context);
    const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (event == nullptr || (flags & ~known) != 0 || (flags & (known - 1)) == CU_EVENT_INTERPROCESS) return CUDA_ERROR_INVALID_VALUE;
    const Ref<Event> made = std::make_shared<Event>();
    made->handle = new_handle(Handle::event);
    made->id = ++state().last_id;
    made->context = call.current;
    made->flags = flags;
    state().events[made->handle] = made;
    *event = reinterpret_cast<CUevent>(made->handle);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuEventRecord(CUevent event, CUstream stream) {
    ENTER(Call::context);
    return record(call, event, stream);
}

extern "C" CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
    ENTER(Call::context);
    if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
    return record(call, event, stream);
}

extern "C" CUresult cuEventQuery(CUevent handle) {
    ENTER(Call::context);
    const Ref<Event> event = event_of(call, handle);
    if (event == nullptr) return call.result;
    if (event->context->error != CUDA_SUCCESS) return event->context->error;
    if (!recorded(call, *event)) return CUDA_SUCCESS;
    if (!event->recorded->done) return CUDA_ERROR_NOT_READY;
    see(event->recorded->after);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuEventSynchronize(CUevent handle) {
    ENTER(Call::context);
    const Ref<Event> event = event_of(call, handle);
    if (event == nullptr) return call.result;
    if (event->context->error != CUDA_SUCCESS) return event->context->error;
    if (!recorded(call, *event)) return CUDA_SUCCESS;
    wait_for(call, event->recorded);
    return call.result;
}

// Legal while pending; what waits for it in a stream goes on waiting.
extern "C" CUresult cuEventDestroy_v2(CUevent handle) {
    ENTER(Call::context | Call::poisoned_too);
    const Ref<Event> event = event_of(call, handle);
    if (event == nullptr) return call.result;
    state().events.erase(event->handle);
    return event->context->error;
}

extern "C" CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
    ENTER(Call::context);
    return elapsed(call, milliseconds, start, end);
}

extern "C" CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end) {
    ENTER(Call::context);
    return elapsed(call, milliseconds, start, end);
}
