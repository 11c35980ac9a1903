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

template <class T>
struct value_of_all {
    using type = std::conditional_t<std::is_reference_v<T>, T, std::remove_cv_t<T>>;
    static share<T> share_of(future<T> &f) { return f.take_share_(); }
    static T take(const share<T> &value) { return value->take(); }
};
template <>
struct value_of_all<void> {
    using type = nothing;
    static nothing share_of(const future<void> &) noexcept { return {}; }
    static nothing take(nothing) noexcept { return {}; }
};

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

// A future of all values, in order; `nothing` for those without one. It fails with the first failure. The futures are
// used up. Never blocks; throws error.
template <class... T>
auto when_all(const runtime_ref &rt, future<T> &&...futures) {
    using values = std::tuple<typename detail::value_of_all<T>::type...>;
    return rt.submit(
        [shares = std::make_tuple(detail::value_of_all<T>::share_of(futures)...)] {
            return std::apply([](auto &...s) { return values(detail::value_of_all<T>::take(s)...); }, shares);
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
template <class T>
future<std::size_t> when_any(const runtime_ref &rt, const std::vector<future<T>> &futures) {
    const std::vector<norn::token> tokens(futures.begin(), futures.end());
    return when_any(rt, after(tokens));
}
template <class T, class... More>
future<std::size_t> when_any(const runtime_ref &rt, const future<T> &one, const future<More> &...more) {
    const norn::token tokens[] = {one, more...};
    return when_any(rt, after(tokens, 1 + sizeof...(more)));
}

NORN_CPP_END

#endif
