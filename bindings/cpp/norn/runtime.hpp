// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Opening and closing, and the calls on a runtime.
#ifndef NORN_CPP_RUNTIME_HPP
#define NORN_CPP_RUNTIME_HPP

#include "submit.hpp"

#include <array>

NORN_CPP_BEGIN

// The fields of norn_config, with their defaults.
struct config : norn_config {
    config() noexcept : norn_config(NORN_CONFIG_INIT) {}
};

// Data that the calling thread may touch, from runtime_ref::acquire until this is released or destroyed. Move-only.
class acquired {
public:
    acquired() noexcept = default;
    acquired(acquired &&other) noexcept : rt_(other.rt_), hold_(std::exchange(other.hold_, norn_token{0})) {}
    acquired &operator=(acquired &&other) noexcept {
        acquired taken(std::move(other));
        std::swap(rt_, taken.rt_);
        std::swap(hold_, taken.hold_);
        return *this;
    }
    ~acquired() { release(); }
    // Any thread; never blocks.
    void release() noexcept {
        if (hold_.id != 0) (void)norn_data_release(rt_, std::exchange(hold_, norn_token{0}));
    }
    explicit operator bool() const noexcept { return hold_.id != 0; }

private:
    friend class runtime_ref;
    acquired(norn_runtime *rt, norn_token token) noexcept : rt_(rt), hold_(token) {}
    norn_runtime *rt_ = nullptr;
    norn_token hold_{0};
};

// The calls on a runtime that somebody else keeps open. A handle, copied freely; a stale one gives NORN_E_INVALID.
// Calls that are refused throw norn::error with the status and text of the C call of the same name, whose documentation
// in norn.h says which threads may call it and whether it blocks; noexcept ones return an std::error_code instead.
class runtime_ref {
public:
    constexpr runtime_ref(norn_runtime *handle) noexcept : rt_(handle) {}
    norn_runtime *handle() const noexcept { return rt_; }

    // Submits a task; `f` is moved in. Returns future<R>, where R is what `f` returns; future<void> is a token that knows
    // its runtime. Clauses, in any order:
    //   token, future<void>, after(range)      predecessors
    //   future<T> &&, shared_future<T>         predecessors that give `f` their value (T; const T &)
    //   read(d), write(d), update(d), commute(d), reduce(d), accesses(range)
    //   name, priority, cpus, on, as, run_always, held, child, group
    // `f` takes the values of futures and the views of accesses in the order of the clauses, or the values alone; before
    // them it may take `norn::self &`. An exception that leaves `f` fails the task. On an error nothing was submitted, and
    // `f` and the futures that were given are gone.
    template <class F, class... Clauses>
    auto submit(F &&f, Clauses &&...clauses) const {
        return detail::submit(rt_, std::forward<F>(f), std::forward<Clauses>(clauses)...);
    }
    // The same with a result instead of an exception. Only the copy or move of `f`, and memory for it, may still throw.
    template <class F, class... Clauses>
    auto try_submit(F &&f, Clauses &&...clauses) const {
        return detail::try_submit(rt_, std::forward<F>(f), std::forward<Clauses>(clauses)...);
    }

    // A token whose task comes later, in `as(token)`. The name is borrowed.
    token declare(const char *name = nullptr) const {
        norn_token t{0};
        detail::check(norn_declare(rt_, name, &t));
        return t;
    }
    void edge(token before, token after) const { detail::check(norn_edge(rt_, before, after)); }
    void start(token t) const { detail::check(norn_start(rt_, t)); }

    // Waits; throws what the token ended with, as future::get does.
    void await(token t) const {
        const norn_status status = norn_await(rt_, t, -1);
        if (status != NORN_OK) detail::raise_outcome(rt_, t, status);
    }
    // Waits for all and throws what the first failed one ended with.
    void await(after all) const {
        const norn_status status = norn_await_all(rt_, all.tokens, all.count, -1);
        if (status == NORN_OK) return;
        if (detail::says_the_end(status))
            for (std::size_t i = 0; i < all.count; ++i) await(all.tokens[i]);
        detail::raise_refused(status);
    }
    // Waits for one and returns which, whether it succeeded or not.
    std::size_t await_any(after any) const {
        std::uint64_t index = any.count;
        const norn_status status = norn_await_any(rt_, any.tokens, any.count, -1, &index);
        if (status != NORN_OK && index == any.count) detail::raise_refused(status);
        return static_cast<std::size_t>(index);
    }
    std::error_code try_await(token t) const noexcept { return make_error_code(norn_await(rt_, t, -1)); }
    template <class Rep, class Period>
    std::error_code try_await(token t, std::chrono::duration<Rep, Period> limit) const noexcept {
        return make_error_code(norn_await(rt_, t, detail::nanoseconds(limit)));
    }
    bool ready(token t) const {
        std::int32_t done = 0;
        detail::check(norn_test(rt_, t, &done));
        return done != 0;
    }

    // The token together with its runtime, to get() and to await in coroutines.
    future<void> watch(token t) const noexcept { return detail::future_maker::make(rt_, t); }

    // False when it was too late.
    bool cancel(token t) const {
        const norn_status status = norn_cancel(rt_, t);
        if (status != NORN_OK && status != NORN_E_TOO_LATE) detail::raise_refused(status);
        return status == NORN_OK;
    }
    // The record of a token that is complete; status NORN_OK if it succeeded.
    norn_error_info record(token t) const {
        norn_error_info info = NORN_ERROR_INFO_INIT;
        detail::check(norn_error(rt_, t, &info));
        return info;
    }

    // Calls `f(std::error_code)` once when `t` completes, on a norn worker. `f` may submit and fulfil, not await, and must
    // not throw (std::terminate).
    template <class F>
    void on_complete(token t, F &&f) const {
        using callback = std::decay_t<F>;
        auto kept = std::make_unique<callback>(std::forward<F>(f));
        const norn_complete_fn call = [](void *arg, norn_token, norn_status status) noexcept {
            const std::unique_ptr<callback> mine(static_cast<callback *>(arg));
            (*mine)(make_error_code(status));
        };
        detail::check(norn_on_complete(rt_, t, call, kept.get()));
        (void)kept.release();
    }
    // A file descriptor that becomes readable when the token completes; the caller closes it.
    int eventfd(token t) const {
        std::int32_t fd = -1;
        detail::check(norn_eventfd(rt_, t, &fd));
        return fd;
    }

    // The calling thread may touch the data until the result is released.
    template <class... Accesses>
    acquired acquire(const Accesses &...accesses) const {
        const norn_access all[] = {accesses...};
        norn_token token{0};
        detail::check(norn_data_acquire(rt_, all, sizeof...(accesses), -1, &token));
        return {rt_, token};
    }
    // Takes places in the timelines now; the same accesses with their places come back, for one submit each.
    template <class... Accesses>
    std::tuple<Accesses...> reserve(const Accesses &...accesses) const {
        const norn_access all[] = {accesses...};
        std::uint64_t slots[sizeof...(accesses)];
        detail::check(norn_reserve(rt_, all, sizeof...(accesses), slots));
        std::tuple<Accesses...> placed(accesses...);
        std::apply([&](auto &...a) { std::size_t i = 0; ((a.slot = slots[i++]), ...); }, placed);
        return placed;
    }
    void abandon(const norn_access &placed) const { detail::check(norn_reserve_abandon(rt_, placed.slot)); }

    void drain() const { detail::check(norn_drain(rt_, -1)); }
    template <class Rep, class Period>
    std::error_code try_drain(std::chrono::duration<Rep, Period> limit) const noexcept {
        return make_error_code(norn_drain(rt_, detail::nanoseconds(limit)));
    }
    void progress() const { detail::check(norn_progress(rt_)); }
    void seal() const { detail::check(norn_seal(rt_)); }

    norn_runtime_stats stats() const {
        norn_runtime_stats stats = NORN_RUNTIME_STATS_INIT;
        detail::check(norn_stats(rt_, &stats));
        return stats;
    }
    // The live graph, as NORN_DUMP_TEXT or NORN_DUMP_DOT.
    std::string dump(std::int32_t format = NORN_DUMP_TEXT) const {
        std::string text;
        const norn_write_fn write = [](void *arg, const char *piece, std::uint64_t bytes) noexcept -> std::int32_t {
#if NORN_CPP_EXCEPTIONS
            try {
                static_cast<std::string *>(arg)->append(piece, static_cast<std::size_t>(bytes));
            } catch (...) {
                return 1;
            }
#else
            static_cast<std::string *>(arg)->append(piece, static_cast<std::size_t>(bytes));
#endif
            return 0;
        };
        detail::check(norn_dump(rt_, format, write, &text));
        return text;
    }
    // A name that lives as long as the runtime.
    norn::name intern(const std::string &text) const {
        const char *kept = nullptr;
        detail::check(norn_intern(rt_, text.c_str(), &kept));
        return norn::name(kept);
    }

protected:
    norn_runtime *rt_;
};

// A runtime that this object keeps open. Move-only. The destructor drains and closes, and never throws: a failure that
// nobody looked at is printed to standard error. close() throws it instead.
class runtime : public runtime_ref {
public:
    // Throws error. Any thread, which becomes the opener; not inside a task of the same runtime.
    runtime() : runtime(config()) {}
    explicit runtime(const norn_config &c) : runtime_ref(nullptr) { detail::check(norn_open(&c, &rt_)); }
    // Takes over a runtime that norn_open has opened.
    explicit runtime(norn_runtime *opened) noexcept : runtime_ref(opened) {}
    static result<runtime> open(const norn_config &c = config()) noexcept {
        norn_runtime *rt = nullptr;
        const norn_status status = norn_open(&c, &rt);
        if (status != NORN_OK) return status;
        return runtime(rt);
    }

    runtime(runtime &&other) noexcept : runtime_ref(std::exchange(other.rt_, nullptr)) {}
    runtime &operator=(runtime &&other) noexcept {
        if (this != &other) {
            end();
            rt_ = std::exchange(other.rt_, nullptr);
        }
        return *this;
    }
    ~runtime() { end(); }

    // Drains and closes; throws error with the first failure that nobody looked at. The runtime is closed all the same,
    // except after NORN_E_WOULD_DEADLOCK (inside a task). Blocks.
    void close() { close_or_raise(NORN_DRAIN); }
    // Cancels what has not started, then closes. As close otherwise.
    void cancel_and_close() { close_or_raise(NORN_CANCEL); }
    // With a limit: NORN_E_TIMEOUT leaves it open. `flags`: NORN_DRAIN or NORN_CANCEL.
    template <class Rep, class Period>
    std::error_code try_close(std::uint32_t flags, std::chrono::duration<Rep, Period> limit) noexcept {
        return make_error_code(close_with(flags, detail::nanoseconds(limit)).status);
    }
    explicit operator bool() const noexcept { return rt_ != nullptr; }

private:
    struct ending {
        norn_status status;
        char text[512];
    };
    ending close_with(std::uint32_t flags, std::int64_t timeout_ns) noexcept {
        ending e{norn_close_with(rt_, flags, timeout_ns), {}};
        std::snprintf(e.text, sizeof e.text, "%s", norn_last_error());
        if (e.status != NORN_E_WOULD_DEADLOCK && e.status != NORN_E_TIMEOUT && e.status != NORN_E_FORKED) {
            // A shared runtime (NORN_SHARED) may still be open for others; then its exceptions are still wanted.
            norn_runtime_stats stats = NORN_RUNTIME_STATS_INIT;
            if (norn_stats(rt_, &stats) != NORN_OK) detail::kept_exceptions::instance().forget(rt_);
            rt_ = nullptr;
        }
        return e;
    }
    void close_or_raise(std::uint32_t flags) {
        const ending e = close_with(flags, -1);
        if (e.status != NORN_OK) detail::raise_status(e.status, e.text);
    }
    void end() noexcept {
        if (rt_ == nullptr) return;
        const ending e = close_with(NORN_DRAIN, -1);
        if (e.status != NORN_OK) std::fprintf(stderr, "norn: closed by its destructor with %s: %s\n", norn_status_name(e.status), e.text);
    }
};

inline runtime_ref self::runtime() const { return info().runtime; }

template <class T>
template <class... Options>
data<T>::data(const runtime_ref &rt, T *first, std::size_t count, const Options &...options)
    : rt_(rt.handle()), elements_(first, count) {
    norn_data_desc d = NORN_DATA_DESC_INIT;
    d.ptr = const_cast<std::remove_cv_t<T> *>(first);
    d.bytes = count * sizeof(T);
    (detail::describe(d, options), ...);
    ((reducer_ = reducer_ ? std::move(reducer_) : detail::make_reducer(options)), ...);
    if (reducer_) d.reduce = reducer_->raw;
    detail::check(norn_data_register(rt_, &d, &raw_));
}

template <class T>
template <class... Options>
data<T>::data(const runtime_ref &rt, allocate memory, const Options &...options) : rt_(rt.handle()) {
    static_assert(std::is_trivially_copyable_v<T>, "memory of norn holds zero bytes and no objects");
    norn_data_desc d = NORN_DATA_DESC_INIT;
    d.bytes = memory.count * sizeof(T);
    (detail::describe(d, options), ...);
    ((reducer_ = reducer_ ? std::move(reducer_) : detail::make_reducer(options)), ...);
    if (reducer_) d.reduce = reducer_->raw;
    detail::check(norn_data_alloc(rt_, &d, &raw_));
    void *first = nullptr;
    detail::check(norn_data_pointer(rt_, raw_, &first, nullptr));
    elements_ = view<T>(static_cast<T *>(first), memory.count);
}

template <class... Options>
data<void>::data(const runtime_ref &rt, const Options &...options) : rt_(rt.handle()) {
    norn_data_desc d = NORN_DATA_DESC_INIT;
    (detail::describe(d, options), ...);
    detail::check(norn_data_register(rt_, &d, &raw_));
}

template <class T>
promise<T>::promise(const runtime_ref &rt, const char *name) : promise_base(rt.handle(), name), value_(new detail::slot<T>) {}
inline promise<void>::promise(const runtime_ref &rt, const char *name) : promise_base(rt.handle(), name) {}

NORN_CPP_END

#endif
