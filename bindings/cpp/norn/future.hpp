// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Values that tasks leave behind: future, shared_future, promise.
#ifndef NORN_CPP_FUTURE_HPP
#define NORN_CPP_FUTURE_HPP

#include "self.hpp"

#include <atomic>

NORN_CPP_BEGIN

template <class T>
class future;
template <class T>
class shared_future;

namespace detail {

// Where a value waits for whoever takes it. Counted: one share for the producer (a task's closure, a promise, a
// coroutine), one for each future and each closure that will take the value. The producer writes the value before its
// token completes and everybody else looks at it after that, so norn's completion orders the two.
template <class T>
class slot {
    using stored = std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T> *, std::remove_cv_t<T>>;

public:
    explicit slot(std::uint32_t shares = 1) noexcept : shares_(shares) {}
    slot(const slot &) = delete;
    slot &operator=(const slot &) = delete;

    template <class... A>
    void put(A &&...a) {
        if constexpr (std::is_reference_v<T>)
            new (&value_) stored(std::addressof(a...));
        else
            new (&value_) stored(std::forward<A>(a)...);
        full_ = true;
    }
    // From the result of a function: a value that can be neither copied nor moved is made in its place.
    template <class F>
    void put_result(F &&f) {
        if constexpr (std::is_reference_v<T>) {
            auto &&referred = std::forward<F>(f)(); // has a name: also an rvalue reference has an address then
            new (&value_) stored(std::addressof(referred));
        } else {
            new (&value_) stored(std::forward<F>(f)());
        }
        full_ = true;
    }
    // What was put is not to be seen after all.
    void take_back() noexcept {
        full_ = false;
        value_.~stored();
    }
    bool full() const noexcept { return full_; }
    T take() {
        if constexpr (std::is_reference_v<T>)
            return static_cast<T>(*value_);
        else
            return std::move(value_);
    }
    const stored &look() const noexcept { return value_; }

    void share() noexcept { shares_.fetch_add(1, std::memory_order_relaxed); }
    void unshare() noexcept {
        // The only share is this one: nobody else can make another.
        if (shares_.load(std::memory_order_acquire) == 1 || shares_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }

protected:
    virtual ~slot() {
        if (full_) value_.~stored();
    }

private:
    std::atomic<std::uint32_t> shares_;
    bool full_ = false;
    union {
        stored value_;
    };
};

// A share of a slot.
template <class T>
class share {
public:
    share() noexcept = default;
    // Takes over a share that is counted already.
    explicit share(slot<T> *counted) noexcept : slot_(counted) {}
    share(share &&other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
    share(const share &other) noexcept : slot_(other.slot_) {
        if (slot_ != nullptr) slot_->share();
    }
    share &operator=(share other) noexcept {
        std::swap(slot_, other.slot_);
        return *this;
    }
    ~share() {
        if (slot_ != nullptr) slot_->unshare();
    }
    slot<T> *operator->() const noexcept { return slot_; }
    slot<T> &operator*() const noexcept { return *slot_; }
    explicit operator bool() const noexcept { return slot_ != nullptr; }

private:
    slot<T> *slot_ = nullptr;
};

// Whether this status of an await says how the token ended, rather than why it could not be awaited.
inline bool says_the_end(norn_status status) noexcept {
    return status == NORN_OK || status == NORN_E_TASK_FAILED || status == NORN_E_PROPAGATED ||
           status == NORN_E_CANCELLED || status == NORN_E_CLOSED || status == NORN_E_DEVICE || status == NORN_E_MPI ||
           status == NORN_E_MISMATCH;
}

// What all futures share.
class awaited {
public:
    norn::token token() const noexcept { return token_; }
    operator norn::token() const noexcept { return token_; }
    norn_runtime *runtime_handle() const noexcept { return rt_; }

    // Whether it has completed, in whatever way. Any thread; never blocks.
    bool ready() const {
        std::int32_t done = 0;
        check(norn_test(rt_, token_, &done));
        return done != 0;
    }

    // Waits and says how it ended, without throwing: no error for success. Any thread; blocks as norn_await.
    std::error_code wait() const noexcept { return make_error_code(norn_await(rt_, token_, -1)); }
    // The same with a limit: NORN_E_TIMEOUT when it is over. Zero only looks.
    template <class Rep, class Period>
    std::error_code wait_for(std::chrono::duration<Rep, Period> limit) const noexcept {
        return make_error_code(norn_await(rt_, token_, nanoseconds(limit)));
    }

protected:
    awaited() noexcept = default;
    awaited(norn_runtime *rt, norn_token token) noexcept : rt_(rt), token_(token) {}

    // Waits, and throws what it ended with.
    void wait_or_raise() const {
        const norn_status status = norn_await(rt_, token_, -1);
        if (status != NORN_OK) raise_outcome(rt_, token_, status);
    }

    norn_runtime *rt_ = nullptr;
    norn_token token_{0};
};

[[noreturn]] inline void raise_no_value() {
    raise_status(NORN_E_STATE, "this future has no value: it was moved from, or the value was taken before");
}

// Makes futures; what submits and promises.
struct future_maker {
    template <class T>
    static future<T> make(norn_runtime *rt, norn_token token, share<T> value) noexcept {
        return {rt, token, std::move(value)};
    }
    static future<void> make(norn_runtime *rt, norn_token token) noexcept;
};

} // namespace detail

// The value that a task, a promise or a coroutine will leave. Move-only: the value is taken out once, by get(), by a
// dependant (submit, then), or by co_await. It converts to its token. Destroying it waits for nothing.
template <class T>
class future : public detail::awaited {
public:
    future() noexcept = default;
    future(future &&) noexcept = default;
    future &operator=(future &&) noexcept = default;

    // Whether there is a value to take, now or later.
    bool valid() const noexcept { return static_cast<bool>(value_); }

    // Waits and takes the value. A failure is rethrown: the exception that the task has thrown, with its type, or a
    // norn::error with the record. Any thread; blocks as norn_await does. Where the wait itself was refused
    // (NORN_E_DEADLOCK, NORN_E_WOULD_DEADLOCK, NORN_E_RESOURCE) the future is still valid.
    T get() {
        if (!value_) detail::raise_no_value();
        const norn_status status = norn_await(rt_, token_, -1);
        if (status != NORN_OK) {
            if (detail::says_the_end(status)) value_ = {};
            detail::raise_outcome(rt_, token_, status);
        }
        detail::share<T> taken(std::move(value_));
        return taken->take();
    }

    // Submits `f(value)` after it; more clauses as for submit. The future is used up.
    template <class F, class... Clauses>
    auto then(F &&f, Clauses &&...clauses);

    // For more than one that reads the value. The future is used up.
    shared_future<T> share() noexcept { return shared_future<T>(std::move(*this)); }

    // For norn's own headers.
    detail::share<T> take_share_() {
        if (!value_) detail::raise_no_value();
        return std::move(value_);
    }

private:
    friend struct detail::future_maker;
    template <class U>
    friend class shared_future;
    future(norn_runtime *rt, norn_token token, detail::share<T> value) noexcept
        : awaited(rt, token), value_(std::move(value)) {}

    detail::share<T> value_;
};

// Of a task without a value: a token that knows its runtime. Copied freely.
template <>
class future<void> : public detail::awaited {
public:
    future() noexcept = default;
    bool valid() const noexcept { return rt_ != nullptr; }

    // Waits, and throws what the task has thrown, or a norn::error. May be asked again.
    void get() const {
        if (rt_ == nullptr) detail::raise_no_value();
        wait_or_raise();
    }
    template <class F, class... Clauses>
    auto then(F &&f, Clauses &&...clauses) const;
    shared_future<void> share() const noexcept;

private:
    friend struct detail::future_maker;
    template <class U>
    friend class shared_future;
    future(norn_runtime *rt, norn_token token) noexcept : awaited(rt, token) {}
};

// A value that many read and that stays. Copied freely, also between threads, each using its own copy.
template <class T>
class shared_future : public detail::awaited {
public:
    shared_future() noexcept = default;
    shared_future(future<T> &&other) noexcept : awaited(other), value_(std::move(other.value_)) {}
    bool valid() const noexcept { return static_cast<bool>(value_); }

    // As future::get, but the value stays; the reference lives as long as one of the copies.
    decltype(auto) get() const {
        if (!value_) detail::raise_no_value();
        wait_or_raise();
        if constexpr (std::is_reference_v<T>)
            return static_cast<T>(*value_->look());
        else
            return static_cast<const T &>(value_->look());
    }
    template <class F, class... Clauses>
    auto then(F &&f, Clauses &&...clauses) const;

    // For norn's own headers.
    detail::share<T> copy_share_() const {
        if (!value_) detail::raise_no_value();
        return value_;
    }

private:
    detail::share<T> value_;
};

template <>
class shared_future<void> : public detail::awaited {
public:
    shared_future() noexcept = default;
    shared_future(future<void> other) noexcept : awaited(other) {}
    bool valid() const noexcept { return rt_ != nullptr; }
    void get() const {
        if (rt_ == nullptr) detail::raise_no_value();
        wait_or_raise();
    }
    template <class F, class... Clauses>
    auto then(F &&f, Clauses &&...clauses) const;
};

inline shared_future<void> future<void>::share() const noexcept { return shared_future<void>(*this); }
inline future<void> detail::future_maker::make(norn_runtime *rt, norn_token token) noexcept { return {rt, token}; }

namespace detail {

// Completion from outside, with or without a value.
class promise_base {
public:
    norn::token token() const noexcept { return token_; }

    // Fails it. Throws error when it is complete already (NORN_E_STATE). `code`: not 0. Any thread; never blocks.
    void fail(std::int32_t code, const char *text) {
        check_owned();
        check(norn_fail(rt_, token_, code, text));
        open_ = false;
    }

#if NORN_CPP_EXCEPTIONS
    // Fails it with an exception, which whoever asks gets rethrown.
    void set_exception(std::exception_ptr exception) {
        check_owned();
        described d;
        try {
            std::rethrow_exception(exception);
        } catch (...) {
            d = describe_current();
        }
        // Kept before anybody can see the failure, unless it is complete already.
        std::int32_t done = 0;
        const bool open = norn_test(rt_, token_, &done) == NORN_OK && done == 0;
        if (open) kept_exceptions::instance().keep(rt_, token_, std::move(exception));
        const norn_status status = norn_fail(rt_, token_, d.code, d.text.c_str());
        if (status != NORN_OK && open) kept_exceptions::instance().forget(rt_, token_);
        check(status);
        open_ = false;
    }
#endif

protected:
    promise_base(norn_runtime *rt, const char *name) : rt_(rt) { check(norn_promise(rt, name, &token_)); }
    promise_base(promise_base &&other) noexcept
        : rt_(std::exchange(other.rt_, nullptr)), token_(other.token_), open_(std::exchange(other.open_, false)) {}
    promise_base &operator=(promise_base &&other) noexcept {
        promise_base taken(std::move(other));
        std::swap(rt_, taken.rt_);
        std::swap(token_, taken.token_);
        std::swap(open_, taken.open_);
        return *this;
    }
    ~promise_base() { abandon(); }

    // The token of a promise that was moved from is another promise's to complete.
    void check_owned() const {
        if (rt_ == nullptr) raise_status(NORN_E_STATE, "this promise was moved from");
    }
    void fulfil() {
        check_owned();
        check(norn_fulfill(rt_, token_));
        open_ = false;
    }
    void abandon() noexcept {
        if (std::exchange(open_, false)) (void)norn_fail(rt_, token_, broken_promise_code, "the promise was destroyed without a value");
    }

    norn_runtime *rt_; // null: moved from
    norn_token token_{0};
    bool open_ = true;
};

} // namespace detail

// A future that foreign code completes, from any thread, also in a callback. Move-only. Destroyed without a value, it
// fails with broken_promise_code: nobody waits for ever. One thread at a time uses it. The name is borrowed.
template <class T>
class promise : public detail::promise_base {
public:
    explicit promise(const runtime_ref &rt, const char *name = nullptr);
    promise(promise &&) noexcept = default;
    promise &operator=(promise &&) noexcept = default;

    // Once; a second call throws error (NORN_E_STATE).
    future<T> get_future() {
        check_owned();
        if (handed_out_) detail::raise_status(NORN_E_STATE, "the future of this promise was taken before");
        handed_out_ = true;
        return detail::future_maker::make<T>(rt_, token_, value_);
    }
    // Throws error (NORN_E_STATE) when it is complete already. Never blocks.
    template <class... A>
    void set_value(A &&...a) {
        check_owned();
        if (!open_ || !value_ || value_->full()) detail::raise_status(NORN_E_STATE, "this promise is complete");
        value_->put(std::forward<A>(a)...);
        fulfil();
    }

    // For norn's own headers, which fulfil it by its token.
    detail::share<T> give_up_() noexcept {
        open_ = false;
        return std::move(value_);
    }

private:
    detail::share<T> value_;
    bool handed_out_ = false;
};

template <>
class promise<void> : public detail::promise_base {
public:
    explicit promise(const runtime_ref &rt, const char *name = nullptr);
    promise(promise &&) noexcept = default;
    promise &operator=(promise &&) noexcept = default;

    future<void> get_future() const noexcept { return detail::future_maker::make(rt_, token_); }
    void set_value() { fulfil(); }
};

NORN_CPP_END

#endif
