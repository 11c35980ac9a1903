// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The clauses of a submission: how many predecessors and accesses each adds, and what it gives to the body.
#ifndef NORN_CPP_CLAUSE_HPP
#define NORN_CPP_CLAUSE_HPP

#include "future.hpp"

NORN_CPP_BEGIN

namespace detail {

// What a clause adds to a task, and what it binds for the body. `binds`: the type kept in the closure, void for none;
// it is called with self and gives the argument. `needed`: the body has to take the argument.
template <class C>
struct clause {
    static_assert(!std::is_same_v<C, C>, "this argument is no clause of a submission");
};

struct clause_of_none {
    using binds = void;
    static constexpr bool needed = false;
    static constexpr bool counted = true; // the numbers below are known to the compiler
    static constexpr std::size_t tokens = 0, accesses = 0;
};

template <>
struct clause<token> : clause_of_none {
    static constexpr std::size_t tokens = 1;
    static void put(token t, norn_task &, norn_token *&tokens, norn_access *&) noexcept { *tokens++ = t; }
};
template <>
struct clause<norn_token> : clause<token> {};

template <>
struct clause<after> : clause_of_none {
    static constexpr bool counted = false;
    static std::size_t count_tokens(const after &a) noexcept { return a.count; }
    static std::size_t count_accesses(const after &) noexcept { return 0; }
    static void put(const after &a, norn_task &, norn_token *&tokens, norn_access *&) noexcept {
        for (std::size_t i = 0; i < a.count; ++i) *tokens++ = a.tokens[i];
    }
};

template <>
struct clause<accesses> : clause_of_none {
    static constexpr bool counted = false;
    static std::size_t count_tokens(const norn::accesses &) noexcept { return 0; }
    static std::size_t count_accesses(const norn::accesses &a) noexcept { return a.count; }
    static void put(const norn::accesses &a, norn_task &, norn_token *&, norn_access *&accesses) noexcept {
        for (std::size_t i = 0; i < a.count; ++i) *accesses++ = a.first[i];
    }
};

template <>
struct clause<norn_access> : clause_of_none {
    static constexpr std::size_t accesses = 1;
    // Field by field: the compiler then makes the access in its place, and no wide load waits for narrow stores.
    static void put(const norn_access &a, norn_task &, norn_token *&, norn_access *&next) noexcept {
        next->data.id = a.data.id;
        next->slot = a.slot;
        next->mode = a.mode;
        next->flags = a.flags;
        ++next;
    }
};
template <>
struct clause<access<void>> : clause<norn_access> {};

template <class T>
struct bound_view {
    view<T> elements;
    view<T> operator()(self &) const noexcept { return elements; }
};
template <class T>
struct clause<access<T>> : clause<norn_access> {
    using binds = bound_view<T>;
    static binds bind(const access<T> &a) noexcept { return {a.elements}; }
};

template <class T>
struct bound_copy {
    norn_runtime *rt;
    norn_data data;
    view<T> operator()(self &) const {
        void *copy = nullptr;
        std::uint64_t bytes = 0;
        check(norn_data_pointer(rt, data, &copy, &bytes));
        return {static_cast<T *>(copy), static_cast<std::size_t>(bytes / sizeof(T))};
    }
};
template <class T>
struct clause<reduce_access<T>> : clause<norn_access> {
    using binds = bound_copy<T>;
    static binds bind(const reduce_access<T> &a) noexcept { return {a.rt, a.data}; }
};

// The value is there when the body runs, unless the task is run_always and the future failed: then the body fails too.
template <class T>
struct bound_value {
    share<T> value;
    T operator()(self &) const {
        if (!value->full()) raise_status(NORN_E_PROPAGATED, "the future that this task takes has failed");
        return value->take();
    }
};
template <class T>
struct clause<future<T>> : clause<token> {
    using binds = bound_value<T>;
    static constexpr bool needed = true;
    static binds bind(future<T> &f) { return {f.take_share_()}; }
};
template <>
struct clause<future<void>> : clause<token> {};

template <class T>
struct bound_reference {
    share<T> value;
    decltype(auto) operator()(self &) const {
        if (!value->full()) raise_status(NORN_E_PROPAGATED, "the future that this task takes has failed");
        if constexpr (std::is_reference_v<T>)
            return static_cast<T>(*value->look());
        else
            return static_cast<const T &>(value->look());
    }
};
template <class T>
struct clause<shared_future<T>> : clause<token> {
    using binds = bound_reference<T>;
    static constexpr bool needed = true;
    static binds bind(const shared_future<T> &f) { return {f.copy_share_()}; }
};
template <>
struct clause<shared_future<void>> : clause<token> {};

#define NORN_CPP_OPTION(type, statement)                                                              \
    template <>                                                                                       \
    struct clause<type> : clause_of_none {                                                            \
        static void put(const type &value, norn_task &task, norn_token *&, norn_access *&) noexcept { \
            statement;                                                                                \
        }                                                                                             \
    };
NORN_CPP_OPTION(name, task.name = value.text)
NORN_CPP_OPTION(priority, task.priority = value.value)
NORN_CPP_OPTION(cpus, task.cpus = value.value)
NORN_CPP_OPTION(on, task.place = value.place)
NORN_CPP_OPTION(as, task.as = value.declared)
NORN_CPP_OPTION(task_flag, task.flags |= value.bits)
NORN_CPP_OPTION(norn_group, task.group = value)
#undef NORN_CPP_OPTION

template <class C>
using clause_for = clause<std::decay_t<C>>;

template <class C>
constexpr std::size_t token_count([[maybe_unused]] const C &c) noexcept {
    if constexpr (clause_for<C>::counted)
        return clause_for<C>::tokens;
    else
        return clause_for<C>::count_tokens(c);
}
template <class C>
constexpr std::size_t access_count([[maybe_unused]] const C &c) noexcept {
    if constexpr (clause_for<C>::counted)
        return clause_for<C>::accesses;
    else
        return clause_for<C>::count_accesses(c);
}

} // namespace detail

NORN_CPP_END

#endif
