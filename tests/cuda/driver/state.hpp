// What the stand-in driver knows: devices, contexts, streams, operations, events and memory.
//
// One mutex guards all of it. A call of the driver holds it from entry to return, except while it waits; operations
// run without it, on the threads of engine.cpp. The state is never freed: threads and exit handlers may still come.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#define STANDIN_DRIVER
#include "standin.h"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace standin {

template <class T> using Ref = std::shared_ptr<T>;

struct Context;
struct Stream;
struct Operation;
struct Allocation;
struct Pool;

// For each timeline (one a stream), the highest operation number known to come before. Order is what the program
// asked for by streams, events and waits of the host; that one operation happened to end earlier is no order.
using Clock = std::vector<uint64_t>;
void merge(Clock &into, const Clock &from);

enum class Touch { reads, writes, unknown, begins, ends };

// Bytes in up to three dimensions: `slices` times `rows` runs of `width` bytes.
struct Shape {
    uint64_t begin = 0, width = 0, pitch = 0, rows = 1, slice = 0, slices = 1;
    uint64_t end() const { return begin + (slices - 1) * slice + (rows - 1) * pitch + width; }
    bool operator==(const Shape &other) const;
};
bool overlap(const Shape &a, const Shape &b);

struct Use {
    Ref<Allocation> in; // null: pageable host memory
    Shape at;
    Touch touch;
};

struct Access {
    Ref<Operation> by;
    Shape at;
    Touch touch;
};

struct Allocation {
    enum Kind { device, managed, pinned, registered };
    Kind kind;
    uint64_t base, bytes;
    uint64_t id;
    unsigned flags = 0;
    Ref<Context> context;
    int ordinal;              // the device's, whose memory it is
    Ref<Pool> pool;           // of stream-ordered memory
    const char *made, *freed; // by which call; freed is null while it lives
    std::vector<Access> accesses;
};

struct Pool {
    uint64_t handle;
    int ordinal;
    bool is_default;
    uint64_t maximum = 0, threshold = 0;
    uint64_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
    int reuse[3] = {1, 1, 1};
    std::set<int> readers; // further devices that may reach it
};

enum class Outcome { finished, again };

struct Operation {
    const char *call;
    Ref<Context> context;
    Ref<Stream> stream;
    uint64_t number;
    Clock after; // itself included
    // Waits for values that the host writes, and that this one is behind: its order is not known.
    std::vector<Ref<Operation>> gates;
    bool done = false, started = false;
    int waiting = 0; // for so many others
    std::vector<Ref<Operation>> next;
    // Empty for markers, which take no time. The error poisons the context if it is one of those that do.
    std::function<Outcome(CUresult *)> run;
    int64_t finished_ns = 0;
    bool shows = false; // once it runs, the host may see that all before it is complete
};

struct Stream {
    uint64_t handle;
    uint64_t id;
    Ref<Context> context;
    unsigned flags = 0;
    int priority = 0;
    bool legacy = false, hidden = false; // hidden: made by the driver
    size_t timeline;
    Ref<Operation> tail; // null when all is done
    Clock clock;
    std::vector<Ref<Operation>> gates;
    // For the rule of leases: the last operation but for host functions and values, which only tell of what is before.
    uint64_t last_work = 0, unknown = 0; // unknown: the last one of which it is not known what it touches
    std::vector<std::pair<uint64_t, Use>> under_way; // by operation number
    bool recorded = false, exempt = false, with_priority = false;
};

struct Event {
    uint64_t handle;
    uint64_t id;
    Ref<Context> context;
    unsigned flags = 0;
    Ref<Operation> recorded;
};

struct Context {
    uint64_t handle;
    uint64_t id;
    int ordinal;
    bool primary;
    unsigned flags = 0;
    uint64_t retained = 0;
    bool alive = false;
    CUresult error = CUDA_SUCCESS; // never leaves once set
    Ref<Stream> legacy;
    std::set<uint64_t> peers; // handles of contexts whose memory kernels here may reach
};

struct Device {
    int ordinal;
    int physical; // its number before CUDA_VISIBLE_DEVICES
    CUuuid uuid;
    uint64_t memory, used = 0;
    uint64_t window = 0, shadow = 0, span = 0; // addresses that the program sees, and where the bytes are
    std::map<uint64_t, uint64_t> holes;        // free parts of the window: begin, end
    Ref<Context> primary;
    Ref<Pool> default_pool, pool;
    unsigned primary_flags = 0;
};

struct Parameter {
    size_t offset, bytes;
    bool pointer;
};

struct Kernel {
    std::string name, parameters;
    CUresult (*run)(const standin_launch *);
    void (*touches)(const standin_launch *, standin_touch_fn, void *);
};

struct Function {
    uint64_t handle;
    std::string name;
    uint64_t module;
    std::vector<Parameter> parameters;
    Ref<Kernel> kernel; // null: the stand-in has no host code for it
    int dynamic_shared = 49152;
};

struct Module {
    uint64_t handle;
    Ref<Context> context;
    std::map<std::string, Ref<Function>> functions;
    std::map<std::string, Ref<Allocation>> globals;
};

struct PlannedFailure {
    std::string symbol; // "*": any
    int nth;            // 0: by chance
    double chance;
    CUresult code;
};

struct State {
    std::mutex lock;
    std::condition_variable changed; // an operation ended, or a context was poisoned
    int host_waiters = 0;

    bool initialised = false;
    std::vector<Ref<Device>> devices;
    std::map<uint64_t, Ref<Context>> contexts;
    std::map<uint64_t, Ref<Stream>> streams;
    std::map<uint64_t, Ref<Event>> events;
    std::map<uint64_t, Ref<Pool>> pools;
    std::map<uint64_t, Ref<Module>> modules;
    std::map<uint64_t, Ref<Function>> functions;
    std::map<uint64_t, Ref<Allocation>> memory; // by base, living
    std::map<uint64_t, Ref<Allocation>> gone;   // by base, freed and not yet covered by another
    std::vector<Access> pageable;
    std::map<std::string, Ref<Kernel>> kernels;
    uint64_t last_id = 0;
    uint64_t last_handle[8] = {}; // of each kind; handles are never used again, so late use is told from garbage

    std::vector<uint64_t> numbers; // last operation number of each timeline
    std::vector<size_t> free_timelines;
    Clock seen; // what the host has seen complete

    std::vector<PlannedFailure> failures, faults;
    std::unordered_map<const char *, unsigned long long> calls; // by the address of the name
};

State &state();

// Handles are numbers that look like addresses and point nowhere.
enum class Handle { context, stream, event, pool, module, function, process };
uint64_t new_handle(Handle kind);
bool was_handle(Handle kind, uint64_t handle);

// Settings, read from the environment once (settings.cpp).
enum class Pageable { documented, asynchronous };
struct Settings {
    uint64_t seed;
    int64_t delay_ns;
    int devices;
    uint64_t memory_bytes;
    int version;
    Pageable pageable;
    std::vector<int> visible;
};
const Settings &settings();

uint64_t random_number(); // under the lock
int64_t now_ns();

} // namespace standin
