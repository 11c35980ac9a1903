// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Coroutines (C++20): norn::task<T>, and co_await on tokens and futures.
//
// A task is lazy: it runs when it is spawned or awaited. A spawned coroutine with the tasks it awaits is one chain.
// A chain runs in steps. Each step is a norn task whose body resumes the coroutine; a co_await that has to wait submits
// the next step with the awaited token as its predecessor and ends the present one, so no thread is held. Because a
// step is a body like any other, code in a coroutine may do all that bodies may do. Steps after the first are
// NORN_RUN_ALWAYS: a failure of what is awaited is thrown at the co_await, and the coroutine ends by unwinding.
//
// Ownership of a chain: by the running step, until the coroutine suspends (the next step has it, perhaps on another
// thread already, and the present one touches it no more) or ends. A step that never runs (its group was cancelled, or
// the runtime closed before its start) destroys the frames in its drop. So each frame is destroyed exactly once.
//
// From one coroutine of a chain to another control goes through a loop in the step, not by symmetric transfer: the stack
// does not grow with the number of co_awaits, whatever the compiler makes of tail calls (gcc makes none at -O0).
#ifndef NORN_CPP_COROUTINE_HPP
#define NORN_CPP_COROUTINE_HPP

#include "group.hpp"

#if defined(__cpp_impl_coroutine) && __has_include(<coroutine>)
#include <coroutine>

NORN_CPP_BEGIN

template <class T = void>
class task;

// `co_await norn::this_runtime` gives the runtime_ref of the coroutine.
struct this_runtime_t {};
inline constexpr this_runtime_t this_runtime{};

namespace detail {

template <class T>
inline constexpr bool is_coroutine_task<task<T>> = true;

// Where a coroutine that is awaited by another leaves what it ends with. Part of the awaiter, in the frame of the other.
struct left_base {
    std::coroutine_handle<> waiting;
    left_base *outer = nullptr; // the same of the coroutine that waits; null at the top
    void (*destroy_awaited)(left_base *) noexcept = nullptr;
    std::exception_ptr exception;
};
template <class T>
struct left : left_base {
    slot<T> *value = nullptr;
};
template <>
struct left<void> : left_base {};

struct chain {
    norn_runtime *rt = nullptr;
    norn_token done{0}; // the promise behind the future
    norn_task form = NORN_TASK_INIT; // name, priority, place of every step
    std::coroutine_handle<> top;
    std::coroutine_handle<> *next = nullptr; // where the running step looks for what to resume
    left_base *innermost = nullptr;          // of the coroutine that runs or waits for a token; null: it is the top
    std::exception_ptr exception;

    virtual ~chain() = default;

    // A chain that will not be resumed again. From the inside out, so that a deep one uses no stack.
    void abandon() noexcept {
        while (innermost != nullptr) {
            left_base *const at = std::exchange(innermost, innermost->outer);
            at->destroy_awaited(at);
        }
        top.destroy();
        (void)norn_cancel(rt, done);
        delete this;
    }

    // The coroutine at the top has ended and is suspended for good. Its frame goes before anybody sees it complete.
    void finish() noexcept {
        top.destroy();
#if NORN_CPP_EXCEPTIONS
        if (exception) {
            described d;
            try {
                try {
                    std::rethrow_exception(exception);
                } catch (...) {
                    d = describe_current();
                }
                std::int32_t completed = 0;
                const bool open = norn_test(rt, done, &completed) == NORN_OK && completed == 0;
                if (open) kept_exceptions::instance().keep(rt, done, exception);
                if (norn_fail(rt, done, d.code, d.text.c_str()) != NORN_OK && open) kept_exceptions::instance().forget(rt, done);
            } catch (...) { // no memory for the text
                (void)norn_fail(rt, done, exception_code, nullptr);
            }
            delete this;
            return;
        }
#endif
        (void)norn_fulfill(rt, done); // refused where the future was cancelled
        delete this;
    }
};

template <class T>
struct chain_of : chain {
    share<T> value;
};
template <>
struct chain_of<void> : chain {};

// Content of a step, copied into its norn task; `started` tells its drop whether the body ran.
struct step {
    detail::chain *chain;
    void *frame;
    bool started;

    static std::int32_t run(norn_self *, void *arg) noexcept {
        step *const s = static_cast<step *>(arg);
        s->started = true;
        std::coroutine_handle<> next = std::coroutine_handle<>::from_address(s->frame);
        s->chain->next = &next;
        while (next) std::exchange(next, nullptr).resume();
        return 0;
    }
    static void drop(void *arg) noexcept {
        step *const s = static_cast<step *>(arg);
        if (s->started) return;
        inside_drop here;
        s->chain->abandon();
    }
    static norn_status submit(detail::chain *c, std::coroutine_handle<> h, const norn_token *after, std::uint32_t flags) noexcept {
        step content{c, h.address(), false};
        norn_task task = c->form;
        task.run = run;
        task.drop = drop;
        task.arg = &content;
        task.arg_bytes = sizeof content;
        task.flags = NORN_COPY_ARG | flags;
        task.after = after;
        task.after_count = after != nullptr ? 1 : 0;
        return norn_submit(c->rt, &task, nullptr);
    }
};

// Waits for a token inside a chain.
struct token_awaiter {
    detail::chain *chain;
    norn_token token;

    bool await_ready() const {
        std::int32_t done = 0;
        check(norn_test(chain->rt, token, &done));
        return done != 0;
    }
    // When norn refuses the step, the error is thrown at the co_await.
    void await_suspend(std::coroutine_handle<> h) const { check(step::submit(chain, h, &token, NORN_RUN_ALWAYS)); }
    void await_resume() const {
        if (const norn_status status = ended(); status != NORN_OK) raise_outcome(chain->rt, token, status);
    }

protected:
    norn_status ended() const {
        std::int32_t cancelled = 0;
        if (norn_test(chain->rt, chain->done, &cancelled) == NORN_OK && cancelled != 0) {
            if (norn_await(chain->rt, chain->done, 0) == NORN_E_CLOSED)
                raise_status(NORN_E_CLOSED, "the runtime was closed before this coroutine ended");
            raise_status(NORN_E_CANCELLED, "this coroutine was cancelled");
        }
        return norn_await(chain->rt, token, 0);
    }
};

template <class T>
struct future_awaiter : token_awaiter {
    future<T> value;
    future_awaiter(detail::chain *c, future<T> &&f) noexcept : token_awaiter{c, f.token()}, value(std::move(f)) {}
    bool await_ready() const {
        if (!value.valid()) raise_no_value();
        return token_awaiter::await_ready();
    }
    T await_resume() {
        (void)ended();
        return value.get();
    }
};

template <class T>
struct shared_awaiter : token_awaiter {
    shared_future<T> value;
    shared_awaiter(detail::chain *c, const shared_future<T> &f) noexcept : token_awaiter{c, f.token()}, value(f) {}
    bool await_ready() const {
        if (!value.valid()) raise_no_value();
        return token_awaiter::await_ready();
    }
    decltype(auto) await_resume() {
        (void)ended();
        return value.get();
    }
};

struct runtime_awaiter {
    norn_runtime *rt;
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    runtime_ref await_resume() const noexcept { return rt; }
};

template <class T>
struct coroutine_promise_base {
    detail::chain *chain = nullptr;
    left<T> *outer = nullptr; // null at the top of a chain

    std::suspend_always initial_suspend() const noexcept { return {}; }
    struct ending {
        bool await_ready() const noexcept { return false; }
        template <class P>
        void await_suspend(std::coroutine_handle<P> h) const noexcept {
            P &p = h.promise();
            if (p.outer == nullptr) return p.chain->finish();
            p.chain->innermost = p.outer->outer;
            *p.chain->next = p.outer->waiting;
        }
        void await_resume() const noexcept {}
    };
    ending final_suspend() const noexcept { return {}; }
    void unhandled_exception() noexcept { (outer != nullptr ? outer->exception : chain->exception) = std::current_exception(); }

    token_awaiter await_transform(norn_token t) const noexcept { return {chain, t}; }
    token_awaiter await_transform(const future<void> &f) const { return of_void(f.valid(), f.token()); }
    token_awaiter await_transform(const shared_future<void> &f) const { return of_void(f.valid(), f.token()); }
    template <class U>
    future_awaiter<U> await_transform(future<U> &&f) const noexcept {
        return {chain, std::move(f)};
    }
    // As get(): the value is taken out of it.
    template <class U, class = std::enable_if_t<!std::is_void_v<U>>>
    future_awaiter<U> await_transform(future<U> &f) const noexcept {
        return {chain, std::move(f)};
    }
    template <class U>
    shared_awaiter<U> await_transform(const shared_future<U> &f) const noexcept {
        return {chain, f};
    }
    template <class U>
    auto await_transform(task<U> &&t) const noexcept {
        return typename task<U>::awaiter(chain, std::move(t));
    }
    runtime_awaiter await_transform(this_runtime_t) const noexcept { return {chain->rt}; }

private:
    token_awaiter of_void(bool valid, norn_token t) const {
        if (!valid) raise_no_value();
        return {chain, t};
    }
};

template <class T>
struct coroutine_promise : coroutine_promise_base<T> {
    task<T> get_return_object() noexcept { return task<T>(std::coroutine_handle<coroutine_promise>::from_promise(*this)); }
    template <class U = T>
    void return_value(U &&value) {
        (this->outer != nullptr ? this->outer->value : &*static_cast<chain_of<T> *>(this->chain)->value)->put(std::forward<U>(value));
    }
};
template <>
struct coroutine_promise<void> : coroutine_promise_base<void> {
    task<void> get_return_object() noexcept;
    void return_void() const noexcept {}
};

struct spawner;

} // namespace detail

// A coroutine that norn runs. Lazy: nothing happens until it is awaited in another one (`co_await other(x)`) or started
// with spawn. Move-only; destroying it before that destroys the coroutine and its arguments. Inside it may be awaited:
//   norn::token, future<T> (the value is taken), shared_future<T> (a reference), norn::task<T> &&, norn::this_runtime.
// Others come in through norn::promise. A failure is thrown at the co_await. It may be resumed on another worker.
template <class T>
class [[nodiscard]] task {
public:
    using promise_type = detail::coroutine_promise<T>;

    task(task &&other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
    task &operator=(task &&other) noexcept {
        task taken(std::move(other));
        std::swap(coroutine_, taken.coroutine_);
        return *this;
    }
    ~task() {
        if (coroutine_) coroutine_.destroy();
    }
    bool valid() const noexcept { return static_cast<bool>(coroutine_); }

    class awaiter;

private:
    friend promise_type;
    friend struct detail::spawner;
    explicit task(std::coroutine_handle<promise_type> c) noexcept : coroutine_(c) {}
    std::coroutine_handle<promise_type> coroutine_;
};

inline task<void> detail::coroutine_promise<void>::get_return_object() noexcept {
    return task<void>(std::coroutine_handle<coroutine_promise>::from_promise(*this));
}

namespace detail {

// The place of a child's value in the frame of the coroutine that awaits it.
template <class T>
class local_slot final : public slot<T> {
public:
    ~local_slot() override = default;
};
struct no_slot {};

} // namespace detail

template <class T>
class task<T>::awaiter : detail::left<T> {
public:
    awaiter(detail::chain *chain, task &&t) noexcept : chain_(chain), task_(std::move(t)) {}
    awaiter(const awaiter &) = delete;

    bool await_ready() const {
        if (!task_.valid()) detail::raise_status(NORN_E_STATE, "this task was moved from, or awaited before");
        return false;
    }
    template <class P>
    void await_suspend(std::coroutine_handle<P> h) noexcept {
        promise_type &p = task_.coroutine_.promise();
        p.chain = chain_;
        p.outer = this;
        this->waiting = h;
        this->outer = h.promise().outer;
        this->destroy_awaited = [](detail::left_base *self) noexcept {
            task gone(std::move(static_cast<awaiter *>(self)->task_));
        };
        if constexpr (!std::is_void_v<T>) this->value = &value_;
        chain_->innermost = this;
        *chain_->next = task_.coroutine_;
    }
    T await_resume() {
#if NORN_CPP_EXCEPTIONS
        if (this->exception) std::rethrow_exception(std::move(this->exception));
#endif
        if constexpr (!std::is_void_v<T>) return value_.take();
    }

private:
    detail::chain *chain_;
    task task_;
    [[no_unique_address]] std::conditional_t<std::is_void_v<T>, detail::no_slot, detail::local_slot<T>> value_;
};

namespace detail {

struct spawner {
    template <class T, class... Options>
    static future<T> spawn(norn_runtime *rt, task<T> &&t, const Options &...options) {
        if (!t.valid()) raise_status(NORN_E_STATE, "this task was moved from, or spawned before");
        auto c = std::make_unique<chain_of<T>>();
        [[maybe_unused]] norn_token *no_token = nullptr;
        [[maybe_unused]] norn_access *no_access = nullptr;
        norn_task first = NORN_TASK_INIT;
        (clause_for<Options>::put(options, first, no_token, no_access), ...);
        c->rt = rt;
        if constexpr (!std::is_void_v<T>) c->value = share<T>(new slot<T>);
        check(norn_promise(rt, first.name, &c->done));
        const norn_token done = c->done;
        future<T> result = [&] {
            if constexpr (std::is_void_v<T>)
                return future_maker::make(rt, done);
            else
                return future_maker::make<T>(rt, done, c->value);
        }();
        t.coroutine_.promise().chain = c.get();
        c->top = t.coroutine_;
        c->form = first;
        const norn_status status = step::submit(c.get(), c->top, nullptr, 0);
        if (status != NORN_OK) {
            const std::string text = norn_last_error();
            (void)norn_cancel(rt, done);
            raise(error(status, text)); // c and t destroy what they own
        }
        // From here on the chain owns itself and the coroutine.
        (void)c.release();
        t.coroutine_ = nullptr;
        return result;
    }

    // Keeps a callable and its arguments in a frame of their own for as long as the coroutine runs.
    template <class T, class F, class... A>
    static task<T> keep(F f, A... arguments) {
        co_return co_await std::invoke(f, std::move(arguments)...);
    }

    template <class R>
    struct value_of;
    template <class T>
    struct value_of<task<T>> {
        using type = T;
    };
};

} // namespace detail

// Starts a coroutine on `rt` and returns the future of its value. Options: name, priority, cpus, on, group, which hold for
// all its steps. Any thread; never blocks; throws error. Cancelling the future makes the next co_await that resumes throw
// NORN_E_CANCELLED; cancelling a group destroys the coroutines that wait in it at once, and those that run in it get
// NORN_E_CLOSED from their next co_await that would wait.
template <class T, class... Options>
future<T> spawn(const runtime_ref &rt, task<T> &&t, const Options &...options) {
    return detail::spawner::spawn(rt.handle(), std::move(t), options...);
}

// The same from a function that returns a task: the callable and the arguments are moved into the coroutine, so that
// a lambda may have captures. (The captures of a lambda that is itself a coroutine are not in its frame.)
template <class F, class... A, class R = std::invoke_result_t<std::decay_t<F> &, std::decay_t<A>...>,
          class = std::enable_if_t<detail::is_coroutine_task<R>>>
auto spawn(const runtime_ref &rt, F &&f, A &&...arguments) {
    using T = typename detail::spawner::template value_of<R>::type;
    return detail::spawner::spawn(
        rt.handle(), detail::spawner::keep<T, std::decay_t<F>, std::decay_t<A>...>(std::forward<F>(f), std::forward<A>(arguments)...));
}

namespace detail {

// For coroutines of others that await norn's futures: resumed inside a norn task.
template <class Awaited>
struct foreign_awaiter {
    Awaited value;

    struct resumption {
        void *frame;
        bool started;
    };
    bool await_ready() const { return value.ready(); }
    void await_suspend(std::coroutine_handle<> h) const {
        resumption content{h.address(), false};
        const norn_token token = value.token();
        norn_task task = NORN_TASK_INIT;
        task.run = [](norn_self *, void *arg) noexcept -> std::int32_t {
            resumption *const r = static_cast<resumption *>(arg);
            r->started = true;
            std::coroutine_handle<>::from_address(r->frame).resume();
            return 0;
        };
        // A frame of somebody else is never destroyed here; it is resumed and finds the failure.
        task.drop = [](void *arg) noexcept {
            const resumption *const r = static_cast<const resumption *>(arg);
            if (r->started) return;
            inside_drop here;
            std::coroutine_handle<>::from_address(r->frame).resume();
        };
        task.arg = &content;
        task.arg_bytes = sizeof content;
        task.flags = NORN_COPY_ARG | NORN_RUN_ALWAYS;
        task.after = &token;
        task.after_count = 1;
        check(norn_submit(value.runtime_handle(), &task, nullptr));
    }
    decltype(auto) await_resume() {
        if (!value.ready()) raise_status(NORN_E_CANCELLED, "this co_await was cancelled, with the group it was in");
        return value.get();
    }
};

} // namespace detail

// co_await in coroutines that are no norn::task; for a token: `co_await rt.watch(token)`.
template <class T>
detail::foreign_awaiter<future<T>> operator co_await(future<T> &&f) noexcept {
    return {std::move(f)};
}
inline detail::foreign_awaiter<future<void>> operator co_await(const future<void> &f) noexcept { return {f}; }
template <class T>
detail::foreign_awaiter<shared_future<T>> operator co_await(const shared_future<T> &f) noexcept {
    return {f};
}

NORN_CPP_END

#endif
#endif
