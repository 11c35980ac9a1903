// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// From a callable and its clauses to one norn_submit.
//
// A closure is the callable and the arguments that clauses bind (views, values of futures). It is moved once into
// its place and destroyed exactly once, whatever becomes of the task:
//   - trivially copyable, without a result, at most a pointer long: in norn_task.arg itself;
//   - trivially copyable, without a result, at most 64 bytes: copied by norn (NORN_COPY_ARG);
//   - anything else: one allocation, together with the slot of the result. norn's drop destroys it.
// A refused submission destroys it at once.
#ifndef NORN_CPP_SUBMIT_HPP
#define NORN_CPP_SUBMIT_HPP

#include "clause.hpp"

#include <cstring>
#include <tuple>

NORN_CPP_BEGIN

namespace detail {

template <class T>
inline constexpr bool is_coroutine_task = false;

// Room for N elements on the stack, or for more on the heap where clauses are ranges.
template <class T, std::size_t N, bool Fixed>
struct room {
    T elements[N == 0 ? 1 : N];
    explicit room(std::size_t) noexcept {}
    T *first() noexcept { return elements; }
};
template <class T, std::size_t N>
struct room<T, N, false> {
    static constexpr std::size_t here = 32;
    T elements[here];
    std::unique_ptr<T[]> more;
    explicit room(std::size_t count) {
        if (count > here) more.reset(new T[count]);
    }
    T *first() noexcept { return more ? more.get() : elements; }
};

// The bound arguments of a closure: no bytes for none, and trivially copyable where they are (std::tuple is not).
template <class... B>
struct bound {};
template <class B, class... More>
struct bound<B, More...> : bound<More...> {
    B first;
    template <class... A>
    explicit bound(B &&b, A &&...more) : bound<More...>(std::forward<A>(more)...), first(std::move(b)) {}
};

template <class F>
decltype(auto) call_bound(F &&f, self &, bound<> &) {
    return std::forward<F>(f)();
}
// Calls f with what the bound arguments give, in order.
template <class F, class B, class... More>
decltype(auto) call_bound(F &&f, self &s, bound<B, More...> &arguments) {
    return call_bound(
        [&](auto &&...more) -> decltype(auto) {
            return std::forward<F>(f)(arguments.first(s), std::forward<decltype(more)>(more)...);
        },
        s, static_cast<bound<More...> &>(arguments));
}

// Which arguments a body takes, in this order of preference.
enum class takes { self_and_all, all, self_and_values, values, nothing_fits };

template <class... T>
struct types {};
template <class B>
using given = decltype(std::declval<B &>()(std::declval<self &>()));

// Splits the bindings of clauses into all of them and those of futures.
template <class All, class Needed, class... C>
struct bindings {
    using all = All;
    using needed = Needed;
};
template <class... A, class... N, class C, class... More>
struct bindings<types<A...>, types<N...>, C, More...>
    : bindings<std::conditional_t<std::is_void_v<typename C::binds>, types<A...>, types<A..., typename C::binds>>,
               std::conditional_t<C::needed, types<N..., typename C::binds>, types<N...>>, More...> {};

template <class F, class All, class Needed>
struct choice;
template <class F, class... A, class... N>
struct choice<F, types<A...>, types<N...>> {
    static constexpr takes pick() {
        if constexpr (std::is_invocable_v<F &&, self &, given<A>...>)
            return takes::self_and_all;
        else if constexpr (std::is_invocable_v<F &&, given<A>...>)
            return takes::all;
        else if constexpr (std::is_invocable_v<F &&, self &, given<N>...>)
            return takes::self_and_values;
        else if constexpr (std::is_invocable_v<F &&, given<N>...>)
            return takes::values;
        else
            return takes::nothing_fits;
    }
    static constexpr takes how = pick();
    static constexpr bool with_views = how == takes::self_and_all || how == takes::all;
    static constexpr bool with_self = how == takes::self_and_all || how == takes::self_and_values;
    static auto type() {
        if constexpr (how == takes::self_and_all)
            return types<std::invoke_result<F &&, self &, given<A>...>, bound<A...>>();
        else if constexpr (how == takes::all)
            return types<std::invoke_result<F &&, given<A>...>, bound<A...>>();
        else if constexpr (how == takes::self_and_values)
            return types<std::invoke_result<F &&, self &, given<N>...>, bound<N...>>();
        else if constexpr (how == takes::values)
            return types<std::invoke_result<F &&, given<N>...>, bound<N...>>();
        else
            return types<std::invoke_result<void()>, bound<>>();
    }
    template <class R, class B>
    static R result_in(types<R, B>);
    template <class R, class B>
    static B bound_in(types<R, B>);
    using returned = typename decltype(result_in(type()))::type;
    using arguments = decltype(bound_in(type()));
};

template <class F, class Bound, bool WithSelf>
struct closure : Bound {
    F f;
    static constexpr bool has_no_content = std::is_empty_v<F> && std::is_empty_v<Bound>;
    template <class G, class... B>
    explicit closure(G &&g, B &&...b) : Bound(std::forward<B>(b)...), f(std::forward<G>(g)) {}

    // Once: what was moved in may be moved out.
    decltype(auto) operator()(self &s) {
        if constexpr (WithSelf)
            return call_bound([&](auto &&...a) -> decltype(auto) { return std::invoke(std::move(f), s, std::forward<decltype(a)>(a)...); }, s, static_cast<Bound &>(*this));
        else
            return call_bound([&](auto &&...a) -> decltype(auto) { return std::invoke(std::move(f), std::forward<decltype(a)>(a)...); }, s, static_cast<Bound &>(*this));
    }
};

struct body_access {
#if NORN_CPP_EXCEPTIONS
    // Fails the body that runs with the exception being handled, and keeps it for whoever asks.
    static std::int32_t stop_exception(norn_self *raw) noexcept {
        try {
            norn_self_info info = NORN_SELF_INFO_INIT;
            if (norn_self_get(raw, &info) == NORN_OK)
                kept_exceptions::instance().keep(info.runtime, info.token, std::current_exception());
            const described d = describe_current();
            return norn_self_fail(raw, d.code, d.text.c_str());
        } catch (...) { // no memory for the text: the failure itself is what matters
            return exception_code;
        }
    }
#endif

    static bool failed(const self &s) noexcept { return s.code_ != 0; }

    // The boundary that no exception passes.
    template <class Call>
    static std::int32_t run(norn_self *raw, Call &&call) noexcept {
        self s(raw);
#if NORN_CPP_EXCEPTIONS
        try {
            call(s);
        } catch (...) {
            return stop_exception(raw);
        }
#else
        call(s);
#endif
        return s.code_;
    }
};

template <class C>
inline constexpr bool fits_argument = std::is_trivially_copyable_v<C> && sizeof(C) <= sizeof(void *) && alignof(C) <= alignof(void *);
template <class C>
inline constexpr bool fits_copy = std::is_trivially_copyable_v<C> && sizeof(C) <= 64 && alignof(C) <= 8;

template <class C>
std::int32_t run_in_argument(norn_self *raw, [[maybe_unused]] void *arg) noexcept {
    alignas(C) unsigned char bytes[sizeof(C)];
    if constexpr (!C::has_no_content) std::memcpy(bytes, &arg, sizeof(C));
    return body_access::run(raw, [&](self &s) { (*std::launder(reinterpret_cast<C *>(bytes)))(s); });
}
template <class C>
std::int32_t run_in_copy(norn_self *raw, void *arg) noexcept {
    return body_access::run(raw, [&](self &s) { (*static_cast<C *>(arg))(s); });
}
template <class C>
void drop_on_heap(void *arg) noexcept {
    inside_drop here;
    delete static_cast<C *>(arg);
}

// A closure with the slot of its result. Made with two shares: that of the future, and norn's, which its drop gives back
// after the closure is gone.
template <class R, class C>
class task_slot final : public slot<R> {
public:
    template <class... A>
    explicit task_slot(A &&...a) : slot<R>(2) {
        new (&closure_) C(std::forward<A>(a)...);
    }
    static std::int32_t run(norn_self *raw, void *arg) noexcept {
        return body_access::run(raw, [&](self &s) {
            task_slot *const t = static_cast<task_slot *>(arg);
            t->put_result([&]() -> decltype(auto) { return t->closure_(s); });
            if (body_access::failed(s)) t->take_back(); // for a run_always reader too, which runs all the same
        });
    }
    static void drop(void *arg) noexcept {
        inside_drop here;
        task_slot *const t = static_cast<task_slot *>(arg);
        t->destroy_closure();
        t->unshare();
    }
    void destroy_closure() noexcept { closure_.~C(); }

private:
    ~task_slot() override {}
    union {
        C closure_;
    };
};

// Arguments of the closure, in the order of the clauses; without the views where the body does not take them.
template <bool WithViews, class C>
auto bind_one(C &clause) {
    using of = clause_for<C>;
    if constexpr (std::is_void_v<typename of::binds>)
        return std::tuple<>();
    else if constexpr (of::needed || WithViews)
        return std::tuple<typename of::binds>(of::bind(clause));
    else
        return std::tuple<>();
}

template <class C>
inline constexpr bool takes_value_of_lvalue = false;
template <class T>
inline constexpr bool takes_value_of_lvalue<future<T> &> = !std::is_void_v<T>;
template <class T>
inline constexpr bool takes_value_of_lvalue<const future<T> &> = !std::is_void_v<T>;
template <class T>
inline constexpr bool takes_value_of_lvalue<const future<T>> = !std::is_void_v<T>;

// The future whose value a clause takes out, and null for other clauses.
template <class C>
const void *emptied(const C &) noexcept {
    return nullptr;
}
template <class T>
const void *emptied(const future<T> &f) noexcept {
    return std::is_void_v<T> ? nullptr : &f;
}
template <class C>
bool has_value(const C &) noexcept {
    return true;
}
template <class T>
bool has_value(const future<T> &f) noexcept {
    return std::is_void_v<T> || f.valid();
}
template <class T>
bool has_value(const shared_future<T> &f) noexcept {
    return std::is_void_v<T> || f.valid();
}
// Whether each future still has the value that its clause takes: it was not moved from, and is not given twice.
template <class... C>
bool have_values(const C &...clauses) noexcept {
    if (!(has_value(clauses) && ...)) return false;
    const void *const futures[] = {nullptr, emptied(clauses)...};
    for (std::size_t i = 1; i <= sizeof...(C); ++i)
        for (std::size_t j = 1; j < i; ++j)
            if (futures[i] != nullptr && futures[i] == futures[j]) return false;
    return true;
}

template <class F, class... C>
struct submission {
    using choice_type =
        choice<std::decay_t<F>, typename bindings<types<>, types<>, clause_for<C>...>::all,
               typename bindings<types<>, types<>, clause_for<C>...>::needed>;
    static_assert(choice_type::how != takes::nothing_fits,
                  "the callable takes neither the values of the futures and the views of the accesses, in order, nor "
                  "the values alone (each with norn::self & before them, or without)");
    using returned = typename choice_type::returned;
    static_assert(!is_coroutine_task<std::decay_t<returned>>, "a coroutine is started by norn::spawn, not by submit");
    using value = std::conditional_t<std::is_reference_v<returned>, returned, std::remove_cv_t<returned>>;
    using closure_type = closure<std::decay_t<F>, typename choice_type::arguments, choice_type::with_self>;

    static_assert(!(takes_value_of_lvalue<C> || ...), "a future's value is taken out once: give it with std::move, or share() it");
    static constexpr bool counted = (clause_for<C>::counted && ...);

    template <class Fill>
    static norn_status send(norn_runtime *rt, norn_task &task, norn_token *token, C &...clauses, Fill &&fill) {
        const std::size_t tokens = (std::size_t(0) + ... + token_count(clauses));
        const std::size_t accesses = (std::size_t(0) + ... + access_count(clauses));
        room<norn_token, (std::size_t(0) + ... + clause_for<C>::tokens), counted> token_room(tokens);
        room<norn_access, (std::size_t(0) + ... + clause_for<C>::accesses), counted> access_room(accesses);
        [[maybe_unused]] norn_token *next_token = token_room.first();
        [[maybe_unused]] norn_access *next_access = access_room.first();
        (clause_for<C>::put(clauses, task, next_token, next_access), ...);
        task.after = token_room.first();
        task.after_count = tokens;
        task.accesses = access_room.first();
        task.access_count = accesses;
        fill(); // after the clauses were read: it moves values out of them
        return norn_submit(rt, &task, token);
    }

    // What throws: the copy or move of the callable, and std::bad_alloc.
    static norn_status submit(norn_runtime *rt, future<value> &out, F &&f, C &...clauses) {
        norn_task task = NORN_TASK_INIT;
        norn_token token{0};
        const auto construct = [&](auto &&make) {
            return std::apply([&](auto &&...b) { return make(std::forward<F>(f), std::move(b)...); },
                              std::tuple_cat(bind_one<choice_type::with_views>(clauses)...));
        };
        if constexpr (std::is_void_v<value> && fits_copy<closure_type>) {
            alignas(closure_type) unsigned char bytes[sizeof(closure_type)];
            const norn_status status = send(rt, task, &token, clauses..., [&] {
                construct([&](auto &&...a) { return new (bytes) closure_type(std::forward<decltype(a)>(a)...); });
                if constexpr (fits_argument<closure_type>) {
                    if constexpr (!closure_type::has_no_content) std::memcpy(&task.arg, bytes, sizeof bytes);
                    task.run = run_in_argument<closure_type>;
                } else {
                    task.arg = bytes;
                    task.arg_bytes = sizeof bytes;
                    task.flags |= NORN_COPY_ARG;
                    task.run = run_in_copy<closure_type>;
                }
            });
            if (status == NORN_OK) out = future_maker::make(rt, token);
            return status;
        } else if constexpr (std::is_void_v<value>) {
            closure_type *kept = nullptr;
            const norn_status status = send(rt, task, &token, clauses..., [&] {
                kept = construct([](auto &&...a) { return new closure_type(std::forward<decltype(a)>(a)...); });
                task.arg = kept;
                task.run = run_in_copy<closure_type>;
                task.drop = drop_on_heap<closure_type>;
            });
            if (status == NORN_OK)
                out = future_maker::make(rt, token);
            else
                delete kept;
            return status;
        } else {
            using kept_type = task_slot<value, closure_type>;
            kept_type *kept = nullptr;
            share<value> mine;
            const norn_status status = send(rt, task, &token, clauses..., [&] {
                kept = construct([](auto &&...a) { return new kept_type(std::forward<decltype(a)>(a)...); });
                mine = share<value>(kept);
                task.arg = kept;
                task.run = kept_type::run;
                task.drop = kept_type::drop;
            });
            if (status == NORN_OK) {
                out = future_maker::make<value>(rt, token, std::move(mine));
            } else if (kept != nullptr) {
                kept->destroy_closure();
                kept->unshare();
            }
            return status;
        }
    }
};

template <class F, class... C>
using submitted = future<typename submission<F, C...>::value>;

template <class F, class... C>
submitted<F, C...> submit(norn_runtime *rt, F &&f, C &&...clauses) {
    submitted<F, C...> out;
    const norn_status status = submission<F, C...>::submit(rt, out, std::forward<F>(f), clauses...);
    if (status != NORN_OK) raise_refused(status);
    return out;
}

template <class F, class... C>
result<submitted<F, C...>> try_submit(norn_runtime *rt, F &&f, C &&...clauses) {
    if (!have_values(clauses...)) return norn_status(NORN_E_STATE);
    submitted<F, C...> out;
    const norn_status status = submission<F, C...>::submit(rt, out, std::forward<F>(f), clauses...);
    if (status != NORN_OK) return status;
    return result<submitted<F, C...>>(std::move(out));
}

} // namespace detail

template <class T>
template <class F, class... C>
auto future<T>::then(F &&f, C &&...clauses) {
    return detail::submit(this->rt_, std::forward<F>(f), std::move(*this), std::forward<C>(clauses)...);
}
template <class F, class... C>
auto future<void>::then(F &&f, C &&...clauses) const {
    return detail::submit(this->rt_, std::forward<F>(f), *this, std::forward<C>(clauses)...);
}
template <class T>
template <class F, class... C>
auto shared_future<T>::then(F &&f, C &&...clauses) const {
    return detail::submit(this->rt_, std::forward<F>(f), *this, std::forward<C>(clauses)...);
}
template <class F, class... C>
auto shared_future<void>::then(F &&f, C &&...clauses) const {
    return detail::submit(this->rt_, std::forward<F>(f), *this, std::forward<C>(clauses)...);
}

NORN_CPP_END

#endif
