// Device work: operations that wait for each other, and the threads that run those that wait no more.
//
// An operation waits for the one before it on its stream, for the event it was told to wait for, and for what the
// legacy default stream asks. When the last of them is done it becomes ready, and after a delay drawn by seed some
// thread runs it. There are as many threads as operations that run at once, so no stream holds up another; that is
// the freedom the real device has, used to the full.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "call.hpp"

#include <chrono>
#include <csignal>
#include <cstring>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

namespace standin {

namespace {

struct Ready {
    Ref<Operation> operation;
    uint64_t sequence;
};

constexpr int most_threads = 512;
constexpr int64_t poll_ns = 20000; // between two looks at a value that a stream waits for

// Never destroyed: threads wait here when the process ends.
std::multimap<int64_t, Ready> &ready = *new std::multimap<int64_t, Ready>; // by the time at which it may start
std::condition_variable &work = *new std::condition_variable;
int idle = 0, threads = 0;
uint64_t sequence = 0;
long long pending = 0;
bool held = false;
int let_through = 0;

void spawn();

void wake_or_spawn() {
    if (idle == 0) {
        spawn();
    } else {
        work.notify_one();
    }
}

int64_t delay() {
    const int64_t most = settings().delay_ns;
    if (most == 0) return 0;
    const uint64_t draw = random_number() % 10;
    if (draw < 5) return 0;
    const uint64_t range = static_cast<uint64_t>(draw < 9 ? most / 4 + 1 : most);
    return static_cast<int64_t>(random_number() % range);
}

void schedule(const Ref<Operation> &operation, int64_t after_ns) {
    ready.emplace(now_ns() + after_ns, Ready{operation, sequence++});
    wake_or_spawn();
}

// An operation whose last predecessor is done. Markers end here and now, but for some that take their time.
void make_ready(const Ref<Operation> &operation, std::vector<Ref<Operation>> &ended) {
    if (operation->run) {
        schedule(operation, delay());
    } else if (!held && settings().delay_ns != 0 && random_number() % 4 == 0) {
        schedule(operation, delay());
    } else {
        ended.push_back(operation);
    }
}

// Iterative: a queue of a million operations must not grow the stack.
void end(Ref<Operation> first) {
    std::vector<Ref<Operation>> ended;
    ended.push_back(std::move(first));
    while (!ended.empty()) {
        const Ref<Operation> operation = std::move(ended.back());
        ended.pop_back();
        operation->done = true;
        operation->finished_ns = now_ns();
        operation->run = nullptr;
        operation->gates.clear();
        if (operation->stream->tail == operation) operation->stream->tail = nullptr;
        --pending;
        for (const Ref<Operation> &next : operation->next)
            if (--next->waiting == 0) make_ready(next, ended);
        operation->next.clear();
    }
    if (state().host_waiters > 0) state().changed.notify_all();
}

// The next operation that may start now, or ready.end() and when to look again.
std::multimap<int64_t, Ready>::iterator startable(int64_t *look_again) {
    *look_again = INT64_MAX;
    if (held) {
        if (let_through == 0) return ready.end();
        auto oldest = ready.begin();
        for (auto at = ready.begin(); at != ready.end(); ++at)
            if (at->second.sequence < oldest->second.sequence) oldest = at;
        return oldest;
    }
    if (ready.empty()) return ready.end();
    if (ready.begin()->first <= now_ns()) return ready.begin();
    *look_again = ready.begin()->first;
    return ready.end();
}

void run(const Ref<Operation> &operation, std::unique_lock<std::mutex> &lock) {
    Context &context = *operation->context;
    Outcome outcome = Outcome::finished;
    operation->started = true;
    if (operation->run && context.error == CUDA_SUCCESS) {
        CUresult error = CUDA_SUCCESS;
        if (operation->shows) see(operation->after);
        lock.unlock();
        outcome = operation->run(&error);
        lock.lock();
        if (error != CUDA_SUCCESS) poison(operation->context, error);
    }
    if (outcome == Outcome::again && context.error == CUDA_SUCCESS) {
        schedule(operation, poll_ns);
    } else {
        end(operation);
    }
}

void *worker(void *) {
    prctl(PR_SET_TIMERSLACK, 1UL);
    std::unique_lock<std::mutex> lock(state().lock);
    for (;;) {
        int64_t look_again;
        const auto next = startable(&look_again);
        if (next == ready.end()) {
            ++idle;
            if (look_again == INT64_MAX) {
                work.wait(lock);
            } else {
                work.wait_for(lock, std::chrono::nanoseconds(std::max<int64_t>(look_again - now_ns(), 0)));
            }
            --idle;
            continue;
        }
        const Ref<Operation> operation = std::move(next->second.operation);
        ready.erase(next);
        if (held) --let_through;
        // What is still ready must not have to wait for this one: somebody else has to watch for its time.
        if (!ready.empty()) wake_or_spawn();
        run(operation, lock);
    }
}

void spawn() {
    if (threads == most_threads) return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    // Without a first thread nothing would ever run; without a further one work only runs later.
    if (pthread_create(&thread, &attributes, worker, nullptr) == 0) {
        ++threads;
        pthread_setname_np(thread, "standin");
    } else if (threads == 0) {
        violation("no-thread", "pthread_create", "the stand-in driver cannot start a thread");
    }
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void wait_on(const Ref<Operation> &operation, Operation &by) {
    if (operation == nullptr) return;
    merge(by.after, operation->after);
    if (operation->done) return;
    for (const Ref<Operation> &gate : operation->gates)
        if (!gate->done) by.gates.push_back(gate);
    ++by.waiting;
}

} // namespace

Ref<Operation> enqueue(Call &call, const Ref<Stream> &stream, const std::vector<Use> &uses, Run what,
                       const Ref<Operation> &also_after, bool shows) {
    State &s = state();
    if (!shows) expect_lease(*stream, uses, s.numbers[stream->timeline] + 1, call.name);
    const Ref<Operation> operation = std::make_shared<Operation>();
    operation->call = call.name;
    operation->context = stream->context;
    operation->stream = stream;
    operation->run = std::move(what);
    operation->shows = shows;
    operation->number = ++s.numbers[stream->timeline];
    operation->after = stream->clock;
    merge(operation->after, s.seen);
    for (const Ref<Operation> &gate : stream->gates)
        if (!gate->done) operation->gates.push_back(gate);

    std::vector<Ref<Operation>> before;
    const auto follow = [&](const Ref<Operation> &other) {
        if (other == nullptr) return;
        wait_on(other, *operation);
        if (!other->done) before.push_back(other);
    };
    follow(stream->tail);
    follow(also_after);
    // The legacy default stream and the blocking streams of its context wait for each other.
    if (stream->legacy) {
        for (const auto &[handle, other] : s.streams) {
            if (other->context != stream->context || other == stream || (other->flags & CU_STREAM_NON_BLOCKING)) continue;
            merge(operation->after, other->clock);
            follow(other->tail);
        }
    } else if (!(stream->flags & CU_STREAM_NON_BLOCKING)) {
        merge(operation->after, stream->context->legacy->clock);
        follow(stream->context->legacy->tail);
    }
    if (operation->after.size() <= stream->timeline) operation->after.resize(stream->timeline + 1);
    operation->after[stream->timeline] = operation->number;

    record_uses(operation, uses);
    stream->clock = operation->after;
    stream->gates = operation->gates;
    stream->tail = operation;
    const bool is_work = !uses.empty() || strcmp(call.name, "cuLaunchKernel") == 0; // records and waits are none
    if (!shows && is_work) stream->last_work = operation->number;
    ++pending;
    for (const Ref<Operation> &other : before) other->next.push_back(operation);
    if (operation->waiting == 0) {
        std::vector<Ref<Operation>> ended;
        make_ready(operation, ended);
        if (!ended.empty()) end(operation);
    }
    return operation;
}

// By value: the stream that it is the tail of forgets it when it ends.
void wait_for(Call &call, Ref<Operation> operation) {
    State &s = state();
    if (operation == nullptr) return;
    ++s.host_waiters;
    while (!operation->done && operation->context->error == CUDA_SUCCESS) s.changed.wait(call.lock);
    --s.host_waiters;
    if (operation->context->error != CUDA_SUCCESS) {
        call.fail(operation->context->error);
    } else {
        see(operation->after);
    }
}

void wait_for_stream(Call &call, const Ref<Stream> &stream) {
    const Clock clock = stream->clock;
    wait_for(call, stream->tail);
    if (!call.failed()) see(clock);
}

void wait_for_any_end(Call &call) {
    ++state().host_waiters;
    state().changed.wait(call.lock);
    --state().host_waiters;
}

void poison(const Ref<Context> &context, CUresult error) {
    if (context->error != CUDA_SUCCESS || !never_recovers(error)) return;
    context->error = error;
    work.notify_all();
    state().changed.notify_all();
}

void see(const Clock &clock) { merge(state().seen, clock); }

bool seen(const Ref<Operation> &operation) {
    const size_t timeline = operation->stream->timeline;
    const Clock &seen = state().seen;
    return timeline < seen.size() && operation->number <= seen[timeline];
}

bool device_work_is_held() { return held; }

bool nudge() {
    if (settings().delay_ns == 0) return false;
    const std::lock_guard<std::mutex> lock(state().lock);
    return random_number() % 4 == 0;
}

void hold(bool on) {
    held = on;
    let_through = 0;
    work.notify_all();
}

void let(int count) {
    let_through += count;
    work.notify_all();
}

long long pending_operations() { return pending; }
int thread_count() { return threads; }

} // namespace standin

using namespace standin;

extern "C" void standin_hold(int on) {
    const std::lock_guard<std::mutex> lock(state().lock);
    hold(on != 0);
}

extern "C" void standin_let_through(int count) {
    const std::lock_guard<std::mutex> lock(state().lock);
    let(count);
}
