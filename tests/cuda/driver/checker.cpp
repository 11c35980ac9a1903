// The rules, what breaks them, and what is told of it.
//
// Whether work is ordered, and whether the host knows that it ended, is decided by what the program asked for, not by
// what the threads here happened to do: a wait that is left out is found also where the work ended in time by luck.
// Each operation carries the clock of all that comes before it. The host has seen an operation when a query or a wait
// said so, or when something ran that can tell it: a host function, or a value written by the stream.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "call.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace standin {

namespace {

struct Checker {
    int on_violation = STANDIN_ABORT;
    bool leases = false, leases_of_all = true; // else only of streams that were made with a priority
    std::map<std::string, int> counts;
    std::set<std::string> allowed;
    std::set<uint64_t> reported; // handles and addresses of leaks
    std::string last;
};

Checker &checker() {
    static Checker *const all = [] {
        Checker *made = new Checker;
        const char *what = getenv("STANDIN_ON_VIOLATION");
        if (what != nullptr && strcmp(what, "exit") == 0) made->on_violation = STANDIN_EXIT;
        if (what != nullptr && strcmp(what, "count") == 0) made->on_violation = STANDIN_COUNT;
        const char *leases = getenv("STANDIN_LEASES");
        made->leases = leases == nullptr || *leases != '0';
        made->leases_of_all = false;
        const char *allowed = getenv("STANDIN_ALLOW");
        for (const char *at = allowed; at != nullptr && *at != '\0';) {
            const size_t length = strcspn(at, ",");
            made->allowed.insert(std::string(at, length));
            at += length + (at[length] == ',');
        }
        return made;
    }();
    return *all;
}

const char *word(Touch touch) {
    switch (touch) {
    case Touch::reads: return "reads";
    case Touch::writes: return "writes";
    case Touch::unknown: return "uses";
    case Touch::begins: return "allocates";
    case Touch::ends: return "frees";
    }
    return "";
}

bool conflict(Touch a, Touch b) {
    if (a == Touch::begins || a == Touch::ends || b == Touch::begins || b == Touch::ends) return true;
    if (a == Touch::unknown || b == Touch::unknown) return false;
    return a == Touch::writes || b == Touch::writes;
}

bool ordered(const Operation &earlier, const Operation &later) {
    const size_t timeline = earlier.stream->timeline;
    return timeline < later.after.size() && earlier.number <= later.after[timeline];
}

bool behind_a_gate(const Operation &operation) {
    return std::any_of(operation.gates.begin(), operation.gates.end(), [](const Ref<Operation> &gate) { return !gate->done; });
}

void record_use(const Ref<Operation> &operation, const Use &use, std::vector<Access> &accesses) {
    size_t kept = 0;
    for (size_t i = 0; i < accesses.size(); ++i) {
        Access &other = accesses[i];
        bool keep = !seen(other.by);
        if (keep && other.by != operation) {
            const bool before = ordered(*other.by, *operation);
            if (!before && conflict(other.touch, use.touch) && overlap(other.at, use.at) && !behind_a_gate(*operation) &&
                !behind_a_gate(*other.by)) {
                violation("race", operation->call,
                          "%s %s 0x%llx..0x%llx, which %s on %s %s, and nothing orders the two",
                          describe(*operation->stream).c_str(), word(use.touch), as_printed(use.at.begin),
                          as_printed(use.at.end()), other.by->call, describe(*other.by->stream).c_str(), word(other.touch));
            }
            // What is ordered after this one is ordered after that one too, and what is not is told of this one.
            const bool whole = use.at.rows == 1 && use.at.slices == 1;
            const bool covers = use.at == other.at || (whole && use.at.begin <= other.at.begin && other.at.end() <= use.at.end());
            const bool stricter = use.touch == Touch::writes || use.touch == Touch::ends || use.touch == other.touch;
            keep = !(before && covers && stricter && other.touch != Touch::begins);
        }
        if (keep) {
            if (kept != i) accesses[kept] = std::move(other);
            ++kept;
        }
    }
    accesses.resize(kept);
    accesses.push_back({operation, use.at, use.touch});
}

// A leak is told once, with an example.
template <class All, class Is, class Describe>
void report_leak(const char *what, const char *when, const All &all, Is is, Describe tell) {
    size_t count = 0;
    std::string example;
    for (const auto &[handle, thing] : all) {
        if (!is(*thing) || !checker().reported.insert(handle).second) continue;
        if (count++ == 0) example = tell(*thing);
    }
    if (count != 0) violation("leak", when, "%zu %s left: %s%s", count, what, example.c_str(), count > 1 ? ", ..." : "");
}

} // namespace

bool Shape::operator==(const Shape &other) const {
    return begin == other.begin && width == other.width && rows == other.rows && slices == other.slices &&
           (rows == 1 || pitch == other.pitch) && (slices == 1 || slice == other.slice);
}

// Whether [begin, end) meets one of the rows of a plane that begins at `first`.
static bool meets_rows(uint64_t begin, uint64_t end, uint64_t first, const Shape &plane) {
    if (end <= first || begin >= end) return false;
    // The first row that ends after `begin`; later ones start even further on.
    uint64_t row = 0;
    if (begin >= first + plane.width && plane.rows > 1 && plane.pitch > 0) row = (begin - first - plane.width) / plane.pitch + 1;
    return row < plane.rows && first + row * plane.pitch < end && begin < first + row * plane.pitch + plane.width;
}

bool overlap(const Shape &a, const Shape &b) {
    if (a.width == 0 || b.width == 0 || a.begin >= b.end() || b.begin >= a.end()) return false;
    const Shape &few = a.rows * a.slices <= b.rows * b.slices ? a : b;
    const Shape &many = &few == &a ? b : a;
    for (uint64_t slice = 0; slice < few.slices; ++slice)
        for (uint64_t row = 0; row < few.rows; ++row) {
            const uint64_t begin = few.begin + slice * few.slice + row * few.pitch;
            for (uint64_t other = 0; other < many.slices; ++other)
                if (meets_rows(begin, begin + few.width, many.begin + other * many.slice, many)) return true;
        }
    return false;
}

std::string describe(const Stream &stream) {
    char text[120];
    if (stream.legacy) {
        snprintf(text, sizeof text, "the legacy default stream of device %d", stream.context->ordinal);
    } else {
        snprintf(text, sizeof text, "stream #%llu (0x%llx) of device %d", as_printed(stream.id), as_printed(stream.handle),
                 stream.context->ordinal);
    }
    return text;
}

std::string describe(const Event &event) {
    char text[120];
    snprintf(text, sizeof text, "event #%llu (0x%llx) of device %d", as_printed(event.id), as_printed(event.handle),
             event.context->ordinal);
    return text;
}

std::string describe(const Allocation &allocation) {
    static const char *const kinds[] = {"device", "managed", "pinned", "registered"};
    char text[160];
    snprintf(text, sizeof text, "%llu bytes of %s memory at 0x%llx from %s", as_printed(allocation.bytes),
             kinds[allocation.kind], as_printed(allocation.base), allocation.made);
    return text;
}

bool rule_is_on(const char *rule) { return checker().allowed.count(rule) == 0; }

void violation(const char *rule, const char *call, const char *format, ...) {
    Checker &c = checker();
    if (!rule_is_on(rule)) return;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ++c.counts[rule];
    c.last = std::string("standin: ") + rule + ": " + call + ": " + text;
    fprintf(stderr, "%s\n", c.last.c_str());
    if (c.on_violation == STANDIN_ABORT) {
        fflush(stderr);
        abort();
    }
}

void record_uses(const Ref<Operation> &operation, const std::vector<Use> &uses) {
    for (const Use &use : uses) {
        if (use.at.width == 0 || use.at.rows == 0 || use.at.slices == 0) continue;
        record_use(operation, use, use.in != nullptr ? use.in->accesses : state().pageable);
    }
}

static bool seen_up_to(const Stream &stream, uint64_t number) {
    const Clock &seen = state().seen;
    return number <= (stream.timeline < seen.size() ? seen[stream.timeline] : 0);
}

bool stream_is_seen_idle(const Stream &stream) {
    return seen_up_to(stream, stream.clock.size() > stream.timeline ? stream.clock[stream.timeline] : 0);
}

// Whether something that is still under way on the stream uses an allocation that one of the uses is in: a client orders work
// by allocations, of which each may use a part. Pageable memory is compared by its bytes.
static bool follows_on(const Stream &stream, const std::vector<Use> &uses) {
    for (const Use &use : uses)
        for (const auto &[number, other] : stream.under_way)
            if (other.in == use.in && (use.in != nullptr || overlap(other.at, use.at))) return true;
    return false;
}

static void note_lease(Stream &stream, const std::vector<Use> &uses, uint64_t number) {
    std::vector<std::pair<uint64_t, Use>> &all = stream.under_way;
    all.erase(std::remove_if(all.begin(), all.end(), [&](const auto &one) { return seen_up_to(stream, one.first); }), all.end());
    for (const Use &use : uses) all.push_back({number, use});
}

void expect_lease(Stream &stream, const std::vector<Use> &uses, uint64_t number, const char *call) {
    const bool in_it = checker().leases && (checker().leases_of_all || stream.with_priority);
    if (!in_it || stream.exempt || stream.legacy || stream.hidden) return;
    // What touches no memory that is known here may follow, and be followed, for a reason that is not known either. Records
    // and waits are no work.
    if (uses.empty()) {
        if (strcmp(call, "cuLaunchKernel") == 0) stream.unknown = number;
        return;
    }
    const bool known = seen_up_to(stream, stream.unknown);
    const bool taken = known && stream.recorded && !seen_up_to(stream, stream.last_work) && !follows_on(stream, uses);
    stream.recorded = false;
    note_lease(stream, uses, number);
    if (taken)
        violation("stream-busy", call, "%s was taken for other work before its last was seen complete", describe(stream).c_str());
}

void expect_seen(const Allocation &allocation, const char *rule, const char *call) {
    for (const Access &access : allocation.accesses) {
        if (seen(access.by) || access.touch == Touch::begins) continue;
        violation(rule, call, "%s is still used by %s on %s", describe(allocation).c_str(), access.by->call,
                  describe(*access.by->stream).c_str());
        return;
    }
}

void report_leaks(const Context *of, const char *when) {
    State &s = state();
    const auto here = [&](const Ref<Context> &context) {
        return (of == nullptr || context.get() == of) && context->error == CUDA_SUCCESS;
    };
    report_leak("streams", when, s.streams, [&](const Stream &x) { return !x.legacy && !x.hidden && here(x.context); },
                [](const Stream &x) { return describe(x); });
    report_leak("events", when, s.events, [&](const Event &x) { return here(x.context); },
                [](const Event &x) { return describe(x); });
    report_leak("allocations", when, s.memory, [&](const Allocation &x) { return x.context != nullptr && here(x.context); },
                [](const Allocation &x) { return describe(x); });
    report_leak("modules", when, s.modules, [&](const Module &x) { return here(x.context); },
                [](const Module &) { return std::string("a module"); });
    if (of != nullptr) return;
    report_leak("pools", when, s.pools, [](const Pool &x) { return !x.is_default; },
                [](const Pool &) { return std::string("a memory pool"); });
    report_leak("contexts", when, s.contexts, [&](const Context &x) { return x.alive && x.error == CUDA_SUCCESS; },
                [](const Context &x) {
                    return std::string(x.primary ? "the primary one" : "one") + " of device " + std::to_string(x.ordinal);
                });
}

// The end of the process. What the program itself does at exit has run by now.
__attribute__((destructor)) static void at_exit() {
    if (!in_home_process()) return;
    std::unique_lock<std::mutex> lock(state().lock);
    Checker &c = checker();
    if (c.on_violation != STANDIN_COUNT) report_leaks(nullptr, "exit");
    if (c.on_violation == STANDIN_EXIT && !c.counts.empty()) {
        fflush(stdout);
        _exit(98);
    }
}

} // namespace standin

using namespace standin;

extern "C" void standin_on_violation(int what) {
    const std::lock_guard<std::mutex> lock(state().lock);
    checker().on_violation = what;
}

extern "C" void standin_allow(const char *rule, int allowed) {
    const std::lock_guard<std::mutex> lock(state().lock);
    if (allowed) {
        checker().allowed.insert(rule);
    } else {
        checker().allowed.erase(rule);
    }
}

extern "C" int standin_violations(const char *rule) {
    const std::lock_guard<std::mutex> lock(state().lock);
    int count = 0;
    for (const auto &[name, times] : checker().counts)
        if (rule == nullptr || name == rule) count += times;
    return count;
}

extern "C" void standin_last_violation(char *text, size_t bytes) {
    const std::lock_guard<std::mutex> lock(state().lock);
    if (bytes != 0) snprintf(text, bytes, "%s", checker().last.c_str());
}

extern "C" int standin_report(void) {
    {
        const std::lock_guard<std::mutex> lock(state().lock);
        report_leaks(nullptr, "standin_report");
    }
    return standin_violations(nullptr);
}

extern "C" int standin_expect_idle(CUstream handle) {
    const std::lock_guard<std::mutex> lock(state().lock);
    const auto found = state().streams.find(reinterpret_cast<uint64_t>(handle));
    if (found == state().streams.end()) {
        violation("stream-busy", __func__, "there is no such stream");
        return 0;
    }
    const Stream &stream = *found->second;
    if (stream_is_seen_idle(stream)) return 1;
    violation("stream-busy", __func__, "%s has work that was not seen complete", describe(stream).c_str());
    return 0;
}

extern "C" void standin_expect_unused(const void *memory, size_t bytes) {
    const std::lock_guard<std::mutex> lock(state().lock);
    Shape at;
    at.begin = reinterpret_cast<uint64_t>(memory);
    at.width = bytes;
    const auto look = [&](const std::vector<Access> &accesses) {
        for (const Access &access : accesses) {
            if (seen(access.by) || !overlap(access.at, at)) continue;
            violation("host-memory-in-use", "standin_expect_unused", "0x%llx..0x%llx is still used by %s on %s", as_printed(at.begin),
                      as_printed(at.end()), access.by->call, describe(*access.by->stream).c_str());
            return;
        }
    };
    look(state().pageable);
    for (const auto &[base, allocation] : state().memory)
        if (base < at.end() && at.begin < base + allocation->bytes) look(allocation->accesses);
}

extern "C" void standin_lease_rule(int on) {
    const std::lock_guard<std::mutex> lock(state().lock);
    checker().leases = on != 0;
    checker().leases_of_all = true;
}

extern "C" void standin_exempt_stream(CUstream handle) {
    const std::lock_guard<std::mutex> lock(state().lock);
    const auto found = state().streams.find(reinterpret_cast<uint64_t>(handle));
    if (found != state().streams.end()) found->second->exempt = true;
}

extern "C" long long standin_live(const char *what) {
    State &s = state();
    const std::lock_guard<std::mutex> lock(s.lock);
    const std::string word = what;
    const auto bytes = [&](Allocation::Kind kind) {
        long long sum = 0;
        for (const auto &[base, allocation] : s.memory)
            if (allocation->kind == kind) sum += static_cast<long long>(allocation->bytes);
        return sum;
    };
    if (word == "streams") {
        return std::count_if(s.streams.begin(), s.streams.end(),
                             [](const auto &pair) { return !pair.second->legacy && !pair.second->hidden; });
    }
    if (word == "events") return static_cast<long long>(s.events.size());
    if (word == "modules") return static_cast<long long>(s.modules.size());
    if (word == "contexts") {
        return std::count_if(s.contexts.begin(), s.contexts.end(), [](const auto &pair) { return pair.second->alive; });
    }
    if (word == "pools") {
        return std::count_if(s.pools.begin(), s.pools.end(), [](const auto &pair) { return !pair.second->is_default; });
    }
    if (word == "device-bytes") return bytes(Allocation::device);
    if (word == "managed-bytes") return bytes(Allocation::managed);
    if (word == "pinned-bytes") return bytes(Allocation::pinned);
    if (word == "registered-bytes") return bytes(Allocation::registered);
    if (word == "pending") return pending_operations();
    if (word == "threads") return thread_count();
    return -1;
}
