// The one state, its settings, handles and random numbers.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "call.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <time.h>

namespace standin {

namespace {

[[noreturn]] void refuse(const char *name, const char *value, const char *expected) {
    fprintf(stderr, "standin: %s=%s: expected %s\n", name, value, expected);
    abort();
}

uint64_t number_from(const char *name, uint64_t otherwise, uint64_t most) {
    const char *text = getenv(name);
    if (text == nullptr || *text == '\0') return otherwise;
    char *end = nullptr;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*end != '\0' || *text == '-' || value > most) refuse(name, text, "a number in its range");
    return value;
}

// STANDIN_FAIL=symbol:nth:code,... where nth may be 1/N: each call with that chance; symbol * is any.
std::vector<PlannedFailure> failures_from(const char *name) {
    std::vector<PlannedFailure> failures;
    const char *text = getenv(name);
    if (text == nullptr) return failures;
    const std::string all = text;
    for (size_t at = 0; at < all.size();) {
        const size_t comma = std::min(all.find(',', at), all.size());
        const std::string item = all.substr(at, comma - at);
        at = comma + 1;
        const size_t first = item.find(':'), last = item.rfind(':');
        if (first == std::string::npos || first == last) refuse(name, text, "symbol:nth:code,...");
        const std::string nth = item.substr(first + 1, last - first - 1);
        PlannedFailure failure{item.substr(0, first), 0, 0.0, atoi(item.c_str() + last + 1)};
        if (nth.compare(0, 2, "1/") == 0) {
            failure.chance = 1.0 / std::max(1, atoi(nth.c_str() + 2));
        } else {
            failure.nth = atoi(nth.c_str());
            if (failure.nth < 1) refuse(name, text, "symbol:nth:code,... with nth from 1, or 1/N");
        }
        if (failure.code <= 0) refuse(name, text, "symbol:nth:code,... with the number of an error");
        failures.push_back(failure);
    }
    return failures;
}

// As the driver reads CUDA_VISIBLE_DEVICES: what follows the first number that names no device is not seen.
std::vector<int> visible_from(int devices) {
    std::vector<int> visible;
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    if (text == nullptr) {
        for (int i = 0; i < devices; ++i) visible.push_back(i);
        return visible;
    }
    while (*text != '\0') {
        char *end = nullptr;
        long device = -1;
        if (strncmp(text, "GPU-", 4) == 0) { // GPU-5ad0000N-..., as device_uuid makes them
            device = strtol(text + 11, &end, 16);
            while (*end != '\0' && *end != ',') ++end;
            if (strncmp(text, "GPU-5ad0000", 11) != 0) device = -1;
        } else {
            device = strtol(text, &end, 10);
            if (end == text) break;
        }
        if (device < 0 || device >= devices) break;
        for (const int other : visible)
            if (other == device) return {};
        visible.push_back(static_cast<int>(device));
        if (*end != ',') break;
        text = end + 1;
    }
    return visible;
}

Settings read_settings() {
    Settings s;
    s.seed = number_from("STANDIN_SEED", 1, UINT64_MAX);
    s.delay_ns = static_cast<int64_t>(number_from("STANDIN_DELAY", 100, 10'000'000)) * 1000;
    s.devices = static_cast<int>(number_from("STANDIN_DEVICES", 2, 16));
    s.memory_bytes = number_from("STANDIN_MEMORY", 1024, 1 << 20) << 20;
    s.version = static_cast<int>(number_from("STANDIN_VERSION", 13000, 99999));
    const char *pageable = getenv("STANDIN_PAGEABLE");
    s.pageable = Pageable::documented;
    if (pageable != nullptr && strcmp(pageable, "asynchronous") == 0) {
        s.pageable = Pageable::asynchronous;
    } else if (pageable != nullptr && strcmp(pageable, "documented") != 0) {
        refuse("STANDIN_PAGEABLE", pageable, "documented or asynchronous");
    }
    s.visible = visible_from(s.devices);
    return s;
}

} // namespace

State &state() {
    static State *const all = [] {
        State *made = new State;
        made->failures = failures_from("STANDIN_FAIL");
        made->faults = failures_from("STANDIN_FAULT");
        return made;
    }();
    return *all;
}

const Settings &settings() {
    static const Settings *const all = new Settings(read_settings());
    return *all;
}

void merge(Clock &into, const Clock &from) {
    if (into.size() < from.size()) into.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i)
        if (into[i] < from[i]) into[i] = from[i];
}

// Far from what a pointer of the program can be, with the kind in the upper half.
static uint64_t handle_base(Handle kind) { return 0x5ca0'0000'0000'0000 + (static_cast<uint64_t>(kind) << 44); }

uint64_t new_handle(Handle kind) { return handle_base(kind) + (++state().last_handle[static_cast<int>(kind)] << 6); }

bool was_handle(Handle kind, uint64_t handle) {
    const uint64_t base = handle_base(kind);
    return handle > base && (handle & 63) == 0 && ((handle - base) >> 6) <= state().last_handle[static_cast<int>(kind)];
}

uint64_t random_number() {
    static uint64_t at = settings().seed;
    at += 0x9e3779b97f4a7c15;
    uint64_t mixed = at;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
}

int64_t now_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

} // namespace standin
