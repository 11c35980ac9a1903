// The entry of every call: takes the lock, counts, looks for planted errors, a forbidden caller and a missing or
// poisoned context; and the parts that calls of all kinds share.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "state.hpp"

namespace standin {

class Call {
  public:
    enum Need : unsigned {
        nothing = 0,
        initialised = 1,
        context = 2,    // a current one; implies initialised
        poisoned_too = 4 // works, or at least tidies up, in a poisoned context
    };
    Call(const char *name, unsigned needs);
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

    bool failed() const { return result != CUDA_SUCCESS; }
    CUresult fail(CUresult error) { return result = error; }

    const char *name;
    std::unique_lock<std::mutex> lock;
    CUresult result = CUDA_SUCCESS;
    Ref<Context> current;
};

#define ENTER(needs)              \
    Call call(__func__, (needs)); \
    if (call.failed()) return call.result

// What the thread runs for a device: null outside. A call of the driver from there is a defect.
extern thread_local const char *inside_device_code;
std::vector<Ref<Context>> &context_stack(); // of this thread, the current one last

// The stream behind a handle, or null with call.result set. For work, the stream's context must be the current one.
enum class For { work, look };
Ref<Stream> stream_of(Call &call, CUstream handle, For what);
Ref<Event> event_of(Call &call, CUevent handle);
Ref<Context> context_of(Call &call, CUcontext handle);
Ref<Device> device_of(Call &call, CUdevice device);
Ref<Stream> new_stream(const Ref<Context> &context, unsigned flags, int priority);
void drop_stream(const Ref<Stream> &stream);
bool never_recovers(CUresult error);
const char *error_name(CUresult error);

CUresult planted_fault(const char *kernel); // the error planted for this launch, or CUDA_SUCCESS
bool in_home_process();                     // the one that called cuInit, not a fork of it
void make_devices();

// engine.cpp
using Run = std::function<Outcome(CUresult *)>;
Ref<Operation> enqueue(Call &call, const Ref<Stream> &stream, const std::vector<Use> &uses, Run run,
                       const Ref<Operation> &also_after = nullptr, bool shows = false);
void wait_for(Call &call, Ref<Operation> operation); // sets call.result if the context is poisoned
void wait_for_stream(Call &call, const Ref<Stream> &stream);
void wait_for_any_end(Call &call);
void poison(const Ref<Context> &context, CUresult error);
void see(const Clock &clock);
bool seen(const Ref<Operation> &operation);
bool device_work_is_held();
long long pending_operations();
int thread_count();
bool nudge(); // whether to give way here, by chance, so that what must not overlap does when it can

// checker.cpp
void violation(const char *rule, const char *call, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool rule_is_on(const char *rule);
void record_uses(const Ref<Operation> &operation, const std::vector<Use> &uses);
bool stream_is_seen_idle(const Stream &stream);
void expect_lease(Stream &stream, const std::vector<Use> &uses, uint64_t number, const char *call); // before new work, if the rule is on
// Reports `rule` for each access to the allocation that the host has not seen complete.
void expect_seen(const Allocation &allocation, const char *rule, const char *call);
void report_leaks(const Context *of, const char *when); // null: of all
inline unsigned long long as_printed(uint64_t number) { return number; }
std::string describe(const Stream &stream);
std::string describe(const Event &event);
std::string describe(const Allocation &allocation);

// memory.cpp
Ref<Allocation> allocation_at(uint64_t address); // living; null
Ref<Allocation> allocation_gone_at(uint64_t address);
uint64_t window_allocate(Device &device, uint64_t bytes); // 0: none left
void window_free(Device &device, uint64_t base, uint64_t bytes);
char *real_address(const Allocation &allocation, uint64_t address);
Ref<Device> device_with_window(uint64_t address);
Ref<Allocation> add_allocation(Allocation allocation);
void remove_allocation(const Ref<Allocation> &allocation, const char *call); // from the table; it is then "gone"
void release_allocation(const Ref<Allocation> &allocation);                  // gives the bytes back
enum class Side { device, host, either };
// Finds what a range touches; sets `use` and the address at which to reach it, or gives the error.
CUresult find_range(Call &call, Side side, const Shape &at, Touch touch, Use *use, char **real);

} // namespace standin
