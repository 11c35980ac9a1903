// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// One future for several.
#ifndef NORN_CPP_WHEN_HPP
#define NORN_CPP_WHEN_HPP

#include "runtime.hpp"

NORN_CPP_BEGIN

// The value of a future<void> among others.
struct nothing {};

namespace detail {

template <class F>
inline constexpr bool is_future = false;
template <class T>
inline constexpr bool is_future<future<T>> = true;
template <class T>
inline constexpr bool is_future<shared_future<T>> = true;

// By the kind of future: what it gives to a future of all.
template <class F>
struct value_of_all;
template <class T>
struct value_of_all<future<T>> {
    using type = std::conditional_t<std::is_reference_v<T>, T, std::remove_cv_t<T>>;
    static share<T> share_of(future<T> &f) { return f.take_share_(); }
    static T take(const share<T> &value) { return value->take(); }
};
template <class T>
struct value_of_all<shared_future<T>> {
    using type = std::conditional_t<std::is_reference_v<T>, T, std::remove_cv_t<T>>;
    static share<T> share_of(const shared_future<T> &f) { return f.copy_share_(); }
    static decltype(auto) take(const share<T> &value) {
        if constexpr (std::is_reference_v<T>)
            return static_cast<T>(*value->look());
        else
            return static_cast<const T &>(value->look());
    }
};
struct nothing_of_all {
    using type = nothing;
    static nothing share_of(norn_token) noexcept { return {}; }
    static nothing take(nothing) noexcept { return {}; }
};
template <>
struct value_of_all<future<void>> : nothing_of_all {};
template <>
struct value_of_all<shared_future<void>> : nothing_of_all {};

// The first of several callbacks fulfils the promise; each holds a share.
struct race {
    norn_runtime *rt;
    norn_token promise;
    detail::share<std::size_t> winner;
    std::atomic<bool> decided{false};

    void finished(std::size_t index) noexcept {
        if (decided.exchange(true)) return;
        winner->put(index);
        (void)norn_fulfill(rt, promise); // refused where the future was cancelled
    }
};

// Cancels the promise of a race that could not be set up: nobody else would complete it.
class unless_started {
public:
    explicit unless_started(detail::race &r) noexcept : race_(&r) {}
    unless_started(const unless_started &) = delete;
    ~unless_started() {
        if (race_ != nullptr && !race_->decided.exchange(true)) (void)norn_cancel(race_->rt, race_->promise);
    }
    void started() noexcept { race_ = nullptr; }

private:
    detail::race *race_;
};

} // namespace detail

// A future of all values, in order; `nothing` for those without one. It fails with the first failure. Futures with a value
// are used up and are given by std::move; shared futures give a copy. Never blocks; throws error.
template <class... F, class = std::enable_if_t<(detail::is_future<std::decay_t<F>> && ...)>>
auto when_all(const runtime_ref &rt, F &&...futures) {
    static_assert(!(detail::takes_value_of_lvalue<F> || ...), "a future's value is taken out once: give it with std::move, or share() it");
    using values = std::tuple<typename detail::value_of_all<std::decay_t<F>>::type...>;
    return rt.submit(
        [shares = std::make_tuple(detail::value_of_all<std::decay_t<F>>::share_of(futures)...)] {
            return std::apply([](auto &...s) { return values(detail::value_of_all<std::decay_t<F>>::take(s)...); }, shares);
        },
        futures.token()...);
}

// The same for any number, also none: the values in the order of the futures.
template <class T>
future<std::vector<T>> when_all(const runtime_ref &rt, std::vector<future<T>> &&futures) {
    std::vector<norn::token> tokens(futures.begin(), futures.end());
    std::vector<detail::share<T>> shares;
    shares.reserve(futures.size());
    for (future<T> &f : futures) shares.push_back(f.take_share_());
    futures.clear();
    return rt.submit(
        [taken = std::move(shares)] {
            std::vector<T> values;
            values.reserve(taken.size());
            for (const detail::share<T> &s : taken) values.push_back(s->take());
            return values;
        },
        after(tokens));
}
inline future<void> when_all(const runtime_ref &rt, const std::vector<future<void>> &futures) {
    const std::vector<norn::token> tokens(futures.begin(), futures.end());
    return rt.submit([] {}, after(tokens));
}
inline future<void> when_all(const runtime_ref &rt, after tokens) {
    return rt.submit([] {}, tokens);
}

// A future of the index of the first that completes, whether it succeeds or not; the futures stay as they are. Cancelling
// the result cancels none of them. Never blocks; throws error (NORN_E_INVALID: none were given).
inline future<std::size_t> when_any(const runtime_ref &rt, after tokens) {
    if (tokens.count == 0) detail::raise_status(NORN_E_INVALID, "when_any of no tokens");
    auto race = std::make_shared<detail::race>();
    promise<std::size_t> first(rt, "when_any");
    future<std::size_t> result = first.get_future();
    race->rt = rt.handle();
    race->promise = result.token();
    race->winner = first.give_up_();
    detail::unless_started guard(*race);
    for (std::size_t i = 0; i < tokens.count; ++i)
        rt.on_complete(tokens.tokens[i], [race, i](std::error_code) { race->finished(i); });
    guard.started();
    return result;
}
template <class F, class = std::enable_if_t<detail::is_future<F>>>
future<std::size_t> when_any(const runtime_ref &rt, const std::vector<F> &futures) {
    return when_any(rt, after(futures));
}
template <class F, class... More, class = std::enable_if_t<detail::is_future<F> && (detail::is_future<More> && ...)>>
future<std::size_t> when_any(const runtime_ref &rt, const F &one, const More &...more) {
    const norn::token tokens[] = {one, more...};
    return when_any(rt, after(tokens, 1 + sizeof...(more)));
}

NORN_CPP_END

#endif
