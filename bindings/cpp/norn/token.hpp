// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Tokens, and the clauses of a submission that are plain values.
#ifndef NORN_CPP_TOKEN_HPP
#define NORN_CPP_TOKEN_HPP

#include "error.hpp"

#include <chrono>
#include <cstddef>
#include <type_traits>

NORN_CPP_BEGIN

// Names the completion of one task: eight bytes, copied freely, kept for ever, never freed. The default one is complete
// already. It converts from and to norn_token.
struct token : norn_token {
    constexpr token() noexcept : norn_token{0} {}
    constexpr token(norn_token raw) noexcept : norn_token(raw) {}
    friend constexpr bool operator==(token a, token b) noexcept { return a.id == b.id; }
    friend constexpr bool operator!=(token a, token b) noexcept { return a.id != b.id; }
};
static_assert(sizeof(token) == 8 && std::is_trivially_copyable_v<token>);

// Predecessors from a range of tokens or futures that has data() and size(), or from begin and count; a range of tokens
// lives until the submission returns, of futures the tokens are copied. Single tokens and futures need no after().
struct after {
    const norn_token *tokens;
    std::size_t count;

    constexpr after(const token *first, std::size_t n) noexcept : tokens(first), count(n) {}
    constexpr after(const norn_token *first, std::size_t n) noexcept : tokens(first), count(n) {}
    template <class Range, class = decltype(std::declval<const Range &>().data())>
    explicit after(const Range &range) : tokens(nullptr), count(range.size()) {
        if constexpr (std::is_convertible_v<decltype(range.data()), const norn_token *>) {
            tokens = range.data();
        } else {
            copied_ = std::shared_ptr<norn_token[]>(new norn_token[count]);
            for (std::size_t i = 0; i < count; ++i) copied_[i] = static_cast<token>(range.data()[i]);
            tokens = copied_.get();
        }
    }

private:
    std::shared_ptr<norn_token[]> copied_;
};

// Name of a task, group or datum in reports. Not copied for tasks and groups: a string literal, or runtime_ref::intern.
struct name {
    const char *text;
    explicit constexpr name(const char *literal) noexcept : text(literal) {}
};

// Higher runs earlier among the ready.
struct priority {
    std::int32_t value;
    explicit constexpr priority(std::int32_t v) noexcept : value(v) {}
};

// Workers that the body holds while it runs, for a parallel region inside.
struct cpus {
    std::int32_t value;
    explicit constexpr cpus(std::int32_t v) noexcept : value(v) {}
};

// Where a task runs or a datum lives, such as on(NORN_PLACE_OPENER).
struct on {
    norn_place place;
    explicit constexpr on(norn_place p) noexcept : place(p) {}
    explicit constexpr on(std::int32_t kind, std::int32_t index = -1) noexcept : place{kind, index} {}
};

// The declared token that a task completes.
struct as {
    norn_token declared;
    explicit constexpr as(norn_token t) noexcept : declared(t) {}
};

// run_always, held, child: see NORN_RUN_ALWAYS, NORN_HELD, NORN_CHILD.
struct task_flag {
    std::uint32_t bits;
};
inline constexpr task_flag run_always{NORN_RUN_ALWAYS};
inline constexpr task_flag held{NORN_HELD};
inline constexpr task_flag child{NORN_CHILD};

namespace detail {

// Nanoseconds for the C API, where negative means no limit: here a negative duration means that it is over.
template <class Rep, class Period>
std::int64_t nanoseconds(std::chrono::duration<Rep, Period> duration) noexcept {
    using wide = std::chrono::duration<double, std::nano>;
    const double ns = std::chrono::duration_cast<wide>(duration).count();
    if (!(ns > 0)) return 0;
    if (ns >= 9.2e18) return -1;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

} // namespace detail

NORN_CPP_END

#endif
