// What every call does first, and the way from handles to what they name.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "call.hpp"

#include <atomic>
#include <cstring>
#include <unistd.h>

namespace standin {

thread_local const char *inside_device_code = nullptr;

// What a thread has of its own. The first thread keeps it to the very end: handlers at exit may call the driver, after
// the destructors of thread-local objects have run.
struct Own {
    std::vector<Ref<Context>> contexts;
    std::map<uint64_t, Ref<Stream>> default_streams; // by the context's handle
};
struct Owner {
    Own *own = new Own;
    ~Owner() {
        if (gettid() != getpid()) delete own;
    }
};
static thread_local Own *own = nullptr;

static Own &of_this_thread() {
    if (own == nullptr) {
        static thread_local Owner owner;
        own = owner.own;
    }
    return *own;
}

std::vector<Ref<Context>> &context_stack() { return of_this_thread().contexts; }

namespace {

// Set by the first cuInit. A forked child has none of the driver's threads, and the lock may be held for ever.
std::atomic<pid_t> home{0};

bool names(const std::string &planned, const char *symbol) {
    if (planned == "*") return true;
    if (planned == symbol) return true;
    const size_t length = planned.size();
    return strncmp(planned.c_str(), symbol, length) == 0 && strncmp(symbol + length, "_v", 2) == 0;
}

CUresult planted(std::vector<PlannedFailure> &failures, const char *symbol) {
    for (size_t i = 0; i < failures.size(); ++i) {
        PlannedFailure &failure = failures[i];
        if (!names(failure.symbol, symbol)) continue;
        if (failure.nth == 0) {
            if (static_cast<double>(random_number() >> 11) * 0x1p-53 < failure.chance) return failure.code;
        } else if (--failure.nth == 0) {
            const CUresult code = failure.code;
            failures.erase(failures.begin() + static_cast<long>(i));
            return code;
        }
    }
    return CUDA_SUCCESS;
}

std::unique_lock<std::mutex> enter() {
    const pid_t at = home.load(std::memory_order_relaxed);
    if (at != 0 && at != getpid()) return {};
    return std::unique_lock<std::mutex>(state().lock);
}

} // namespace

bool never_recovers(CUresult error) {
    return error == 214 || error == 700 || error == 702 || error == 710 || (error >= 714 && error <= 719);
}

Call::Call(const char *called, unsigned needs) : name(called), lock(enter()) {
    State &s = state();
    if (!lock.owns_lock()) {
        result = CUDA_ERROR_NOT_INITIALIZED;
        return;
    }
    ++s.calls[name];
    if (inside_device_code != nullptr) {
        violation("call-in-callback", name, "called inside %s", inside_device_code);
        result = CUDA_ERROR_NOT_PERMITTED;
        return;
    }
    if (!context_stack().empty()) current = context_stack().back();
    if ((needs & (initialised | context)) != 0 && !s.initialised) {
        result = CUDA_ERROR_NOT_INITIALIZED;
        return;
    }
    if (needs != nothing || !s.failures.empty()) {
        if (const CUresult code = planted(s.failures, name); code != CUDA_SUCCESS) {
            if (current != nullptr) poison(current, code);
            result = code;
            return;
        }
    }
    if ((needs & context) != 0) {
        if (current == nullptr) {
            violation("no-context", name, "this thread has no current context");
            result = CUDA_ERROR_INVALID_CONTEXT;
        } else if (!current->alive) {
            violation("dead-context", name, "this thread's current context was destroyed");
            result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
        } else if (current->error != CUDA_SUCCESS && (needs & poisoned_too) == 0) {
            result = current->error;
        }
    }
}

static Ref<Stream> own_default_stream(const Ref<Context> &context) {
    Ref<Stream> &stream = of_this_thread().default_streams[context->handle];
    if (stream == nullptr || state().streams.count(stream->handle) == 0) {
        stream = new_stream(context, CU_STREAM_DEFAULT, 0);
        stream->hidden = true;
    }
    return stream;
}

Ref<Stream> stream_of(Call &call, CUstream handle, For what) {
    State &s = state();
    if (handle == nullptr || handle == CU_STREAM_LEGACY) return call.current->legacy;
    if (handle == CU_STREAM_PER_THREAD) return own_default_stream(call.current);
    const uint64_t number = reinterpret_cast<uint64_t>(handle);
    const auto found = s.streams.find(number);
    if (found == s.streams.end()) {
        if (was_handle(Handle::stream, number))
            violation("use-after-destroy", call.name, "stream 0x%llx was destroyed", as_printed(number));
        call.fail(CUDA_ERROR_INVALID_HANDLE);
        return nullptr;
    }
    const Ref<Stream> stream = found->second;
    if (stream->context->error != CUDA_SUCCESS) {
        call.fail(stream->context->error);
        return nullptr;
    }
    if (what == For::work && stream->context != call.current) {
        violation("wrong-context", call.name, "%s, while the current context is of device %d", describe(*stream).c_str(),
                  call.current->ordinal);
    }
    return stream;
}

Ref<Event> event_of(Call &call, CUevent handle) {
    State &s = state();
    const uint64_t number = reinterpret_cast<uint64_t>(handle);
    const auto found = s.events.find(number);
    if (found != s.events.end()) return found->second;
    if (was_handle(Handle::event, number))
        violation("use-after-destroy", call.name, "event 0x%llx was destroyed", as_printed(number));
    call.fail(CUDA_ERROR_INVALID_HANDLE);
    return nullptr;
}

Ref<Context> context_of(Call &call, CUcontext handle) {
    State &s = state();
    const uint64_t number = reinterpret_cast<uint64_t>(handle);
    const auto found = s.contexts.find(number);
    if (found != s.contexts.end() && found->second->alive) return found->second;
    if (was_handle(Handle::context, number)) {
        violation("dead-context", call.name, "context 0x%llx was destroyed", as_printed(number));
        call.fail(CUDA_ERROR_CONTEXT_IS_DESTROYED);
    } else {
        call.fail(CUDA_ERROR_INVALID_CONTEXT);
    }
    return nullptr;
}

Ref<Device> device_of(Call &call, CUdevice device) {
    State &s = state();
    if (device < 0 || static_cast<size_t>(device) >= s.devices.size()) {
        call.fail(CUDA_ERROR_INVALID_DEVICE);
        return nullptr;
    }
    return s.devices[static_cast<size_t>(device)];
}

Ref<Stream> new_stream(const Ref<Context> &context, unsigned flags, int priority) {
    State &s = state();
    const Ref<Stream> stream = std::make_shared<Stream>();
    stream->handle = new_handle(Handle::stream);
    stream->id = ++s.last_id;
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    if (s.free_timelines.empty()) {
        stream->timeline = s.numbers.size();
        s.numbers.push_back(0);
    } else {
        stream->timeline = s.free_timelines.back();
        s.free_timelines.pop_back();
    }
    s.streams[stream->handle] = stream;
    return stream;
}

// Its timeline goes on under another stream, whose first operation nothing orders after the last of this one.
void drop_stream(const Ref<Stream> &stream) {
    State &s = state();
    s.streams.erase(stream->handle);
    if (stream->tail == nullptr) s.free_timelines.push_back(stream->timeline);
}

} // namespace standin

using namespace standin;

extern "C" CUresult cuInit(unsigned flags) {
    Call call(__func__, Call::nothing);
    if (call.failed()) return call.result;
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (settings().visible.empty()) return CUDA_ERROR_NO_DEVICE;
    if (!state().initialised) {
        state().initialised = true;
        home.store(getpid());
        make_devices();
    }
    return CUDA_SUCCESS;
}

extern "C" void standin_fail_next(const char *symbol, int nth, CUresult code) {
    const std::lock_guard<std::mutex> lock(state().lock);
    state().failures.push_back({symbol, nth < 1 ? 1 : nth, 0.0, code});
}

extern "C" void standin_fault_kernel(const char *name, int nth, CUresult code) {
    const std::lock_guard<std::mutex> lock(state().lock);
    state().faults.push_back({name == nullptr ? "*" : name, nth < 1 ? 1 : nth, 0.0, code});
}

extern "C" unsigned long long standin_calls(const char *symbol) {
    const std::lock_guard<std::mutex> lock(state().lock);
    unsigned long long count = 0;
    for (const auto &[name, calls] : state().calls)
        if (symbol == nullptr || names(symbol, name)) count += calls;
    return count;
}

namespace standin {
CUresult planted_fault(const char *kernel) { return planted(state().faults, kernel); }
bool in_home_process() {
    const pid_t at = home.load(std::memory_order_relaxed);
    return at == getpid();
}
} // namespace standin
