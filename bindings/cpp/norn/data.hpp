// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Data, the accesses of tasks to them, and the views that bodies get.
#ifndef NORN_CPP_DATA_HPP
#define NORN_CPP_DATA_HPP

#include "token.hpp"

#include <functional>
#include <iterator>
#include <vector>

NORN_CPP_BEGIN

class runtime_ref;

// Contiguous elements that belong to somebody else; std::span takes one. The same type in C++17 and C++20.
template <class T>
class view {
public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using iterator = T *;

    constexpr view() noexcept = default;
    constexpr view(T *first, std::size_t count) noexcept : first_(first), count_(count) {}
    template <class U, class = std::enable_if_t<std::is_convertible_v<U (*)[], T (*)[]>>>
    constexpr view(view<U> other) noexcept : first_(other.data()), count_(other.size()) {}

    constexpr T *data() const noexcept { return first_; }
    constexpr std::size_t size() const noexcept { return count_; }
    constexpr bool empty() const noexcept { return count_ == 0; }
    constexpr T *begin() const noexcept { return first_; }
    constexpr T *end() const noexcept { return first_ + count_; }
    constexpr T &operator[](std::size_t i) const noexcept { return first_[i]; }
    constexpr T &front() const noexcept { return first_[0]; }
    constexpr T &back() const noexcept { return first_[count_ - 1]; }

private:
    T *first_ = nullptr;
    std::size_t count_ = 0;
};

// Flags of a datum: see NORN_UNWRITTEN and NORN_ALIAS.
struct data_flag {
    std::uint32_t bits;
};
inline constexpr data_flag unwritten{NORN_UNWRITTEN};
inline constexpr data_flag alias{NORN_ALIAS};

// Asks data's constructor for memory of norn: 64-byte aligned and zeroed.
struct allocate {
    std::size_t count;
    explicit constexpr allocate(std::size_t n) noexcept : count(n) {}
};

// How a datum is combined under reduce(): element by element, `into = combine(into, from)`, where `into` holds the earlier
// operands. `combine` is called on norn's threads, several at once, and must not throw (std::terminate).
template <class T, class Combine>
struct reducing {
    T identity;
    Combine combine;
    reducing(T neutral, Combine c) : identity(std::move(neutral)), combine(std::move(c)) {}
};

// An access of a task, from read(), write() ... on a datum or a part. A body may take the view as an argument.
template <class T>
struct access : norn_access {
    view<T> elements;
    access(norn_access raw, view<T> v) noexcept : norn_access(raw), elements(v) {}
};
template <>
struct access<void> : norn_access {
    explicit access(norn_access raw) noexcept : norn_access(raw) {}
};

// As access, where the body gets its private copy of the elements.
template <class T>
struct reduce_access : norn_access {
    norn_runtime *rt;
    reduce_access(norn_access raw, norn_runtime *r) noexcept : norn_access(raw), rt(r) {}
};

// Accesses from a range that has data() and size(), when their number is not known to the compiler. Bodies get no views
// of them. The range lives until the submission returns.
struct accesses {
    const norn_access *first;
    std::size_t count;
    constexpr accesses(const norn_access *a, std::size_t n) noexcept : first(a), count(n) {}
    template <class Range, class = decltype(std::declval<const Range &>().data())>
    explicit accesses(const Range &range) noexcept : accesses(range.data(), range.size()) {}
};

namespace detail {

// Depth of drop calls on this thread. A destructor that runs inside one must not wait: the task it belongs to is not
// complete, and neither is what depends on it.
inline int &drops_in_progress() noexcept {
    static thread_local int depth = 0;
    return depth;
}
struct inside_drop {
    inside_drop() noexcept { ++drops_in_progress(); }
    ~inside_drop() { --drops_in_progress(); }
    inside_drop(const inside_drop &) = delete;
    inside_drop &operator=(const inside_drop &) = delete;
};

// The functions and the neutral element behind norn_reduction, for as long as the datum is registered.
struct reducer {
    norn_reduction raw{};
    virtual ~reducer() = default;
};

template <class T, class Combine>
struct reducer_of final : reducer {
    static_assert(std::is_trivially_copyable_v<T>, "private copies for reduce() are made of raw memory");
    T identity;
    Combine combine;

    explicit reducer_of(reducing<T, Combine> r) : identity(std::move(r.identity)), combine(std::move(r.combine)) {
        raw.identity = [](void *copy, std::uint64_t bytes, void *arg) noexcept {
            T *const first = static_cast<T *>(copy);
            for (std::uint64_t i = 0; i < bytes / sizeof(T); ++i) new (first + i) T(static_cast<reducer_of *>(arg)->identity);
        };
        raw.combine = [](void *into, const void *from, std::uint64_t bytes, void *arg) noexcept {
            const auto &op = static_cast<const reducer_of *>(arg)->combine;
            T *const a = static_cast<T *>(into);
            const T *const b = static_cast<const T *>(from);
            for (std::uint64_t i = 0; i < bytes / sizeof(T); ++i) a[i] = op(a[i], b[i]);
        };
        raw.arg = this;
    }
};

// Ends a datum from where waiting is not allowed: in a task of its own, which waits for the last access. Whoever closes
// the runtime ends the datum too, so a refusal needs no answer.
inline void unregister_later(norn_runtime *rt, norn_data data, reducer *with) noexcept {
    struct ending {
        norn_runtime *rt;
        norn_data data;
        reducer *with;
    } content{rt, data, with};
    norn_task task = NORN_TASK_INIT;
    task.name = "unregister";
    task.run = [](norn_self *, void *arg) noexcept -> std::int32_t {
        const ending *e = static_cast<const ending *>(arg);
        if (norn_data_unregister(e->rt, e->data) == NORN_OK) delete e->with;
        return 0;
    };
    task.arg = &content;
    task.arg_bytes = sizeof content;
    task.flags = NORN_COPY_ARG | NORN_RUN_ALWAYS;
    (void)norn_submit(rt, &task, nullptr);
}

inline void describe(norn_data_desc &d, name n) noexcept { d.name = n.text; }
inline void describe(norn_data_desc &d, data_flag f) noexcept { d.flags |= f.bits; }
inline void describe(norn_data_desc &d, on p) noexcept { d.place = p.place; }

template <class Option>
std::unique_ptr<reducer> make_reducer(const Option &) {
    return nullptr;
}
template <class T, class Combine>
std::unique_ptr<reducer> make_reducer(const reducing<T, Combine> &r) {
    return std::make_unique<reducer_of<T, Combine>>(r);
}
template <class T, class Combine>
void describe(norn_data_desc &, const reducing<T, Combine> &) noexcept {}

template <class T>
inline constexpr std::size_t size_of = sizeof(T);
template <>
inline constexpr std::size_t size_of<void> = 0;

template <class Range>
using element_of = std::remove_pointer_t<decltype(std::data(std::declval<Range &>()))>;

} // namespace detail

// A datum, or a piece of one, that somebody else keeps registered. Copied freely; eight bytes and a view.
template <class T>
class part {
public:
    part(norn_runtime *rt, norn_data raw, view<T> elements) noexcept : rt_(rt), raw_(raw), elements_(elements) {}

    norn_data handle() const noexcept { return raw_; }
    norn_runtime *runtime_handle() const noexcept { return rt_; }
    view<T> elements() const noexcept { return elements_; }
    std::size_t size() const noexcept { return elements_.size(); }

    // Cuts it into `count` pieces of nearly equal length, each a datum of its own, until join(). As norn_data_split:
    // any thread, never blocks; throws error.
    std::vector<part> split(std::size_t count) const {
        if (count == 0) detail::raise_status(NORN_E_INVALID, "split into no pieces");
        std::vector<norn_piece> pieces(count);
        std::vector<part> parts;
        parts.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t from = begin_of(i, count), to = begin_of(i + 1, count);
            pieces[i] = norn_piece{from * sizeof(T), (to - from) * sizeof(T), 0, 0};
            parts.emplace_back(rt_, norn_data{0}, view<T>(elements_.data() + from, to - from));
        }
        std::vector<norn_data> handles(count);
        detail::check(norn_data_split(rt_, raw_, pieces.data(), count, handles.data()));
        for (std::size_t i = 0; i < count; ++i) parts[i].raw_ = handles[i];
        return parts;
    }

    // Ends the split: the pieces are data no more. Any thread, never blocks; throws error.
    void join() const { detail::check(norn_data_join(rt_, raw_)); }

private:
    std::size_t begin_of(std::size_t i, std::size_t count) const noexcept {
        return size() / count * i + (i < size() % count ? i : size() % count);
    }
    norn_runtime *rt_;
    norn_data raw_;
    view<T> elements_;
};

// A datum that this object keeps registered: memory of the application (or of norn, with allocate) whose accesses norn
// orders. Move-only. The destructor waits for the last access so far, as norn_data_unregister does, and never throws; in
// a body that holds the datum itself, and where a task's closure is destroyed, the datum ends later, in a task of its
// own, and the memory must live until then.
//
//     std::vector<double> v(1000);
//     norn::data a(rt, v, norn::name("a"));                       // data<double>
//     norn::data b(rt, pointer, count);
//     norn::data<double> c(rt, norn::allocate(1000));
//     norn::data s(rt, sum, norn::reducing(0.0, std::plus<>()));  // sum: an array or a container
//     norn::data<void> order(rt);                                 // a pure name to order things by
//
// Options: name, unwritten, alias, on, reducing. Constructors: any thread, never block, throw error.
template <class T>
class data {
public:
    template <class... Options>
    data(const runtime_ref &rt, T *first, std::size_t count, const Options &...options);

    template <class Range, class... Options, class U = detail::element_of<Range>,
              class = std::enable_if_t<std::is_convertible_v<U *, T *>>>
    data(const runtime_ref &rt, Range &range, const Options &...options)
        : data(rt, std::data(range), std::size(range), options...) {}

    template <class... Options>
    data(const runtime_ref &rt, allocate memory, const Options &...options);

    data(data &&other) noexcept
        : rt_(other.rt_), raw_(std::exchange(other.raw_, norn_data{0})), elements_(other.elements_),
          reducer_(std::move(other.reducer_)) {}
    data &operator=(data &&other) noexcept {
        data taken(std::move(other));
        std::swap(rt_, taken.rt_);
        std::swap(raw_, taken.raw_);
        std::swap(elements_, taken.elements_);
        std::swap(reducer_, taken.reducer_);
        return *this;
    }
    ~data() { end(); }

    // Ends the datum now, after its last access so far. Any thread; blocks; throws error (NORN_E_WOULD_DEADLOCK in a
    // task that holds it, NORN_E_DEADLOCK), and then the datum is still registered.
    void unregister() {
        detail::check(norn_data_unregister(rt_, raw_));
        raw_ = norn_data{0};
        reducer_.reset();
    }

    // New memory after the last access so far; the caller has moved the contents. Any thread; blocks; throws error.
    void rebind(T *first, std::size_t count) {
        detail::check(norn_data_rebind(rt_, raw_, const_cast<std::remove_cv_t<T> *>(first), count * sizeof(T)));
        elements_ = view<T>(first, count);
    }

    norn_data handle() const noexcept { return raw_; }
    norn_runtime *runtime_handle() const noexcept { return rt_; }
    view<T> elements() const noexcept { return elements_; }
    std::size_t size() const noexcept { return elements_.size(); }

    // For what keeps no datum alive: accesses, splitting.
    part<T> whole() const noexcept { return {rt_, raw_, elements_}; }
    operator part<T>() const noexcept { return whole(); }
    std::vector<part<T>> split(std::size_t count) const { return whole().split(count); }
    void join() const { whole().join(); }

private:
    void end() noexcept {
        if (raw_.id == 0) return;
        const bool may_wait = detail::drops_in_progress() == 0;
        const norn_status status = may_wait ? norn_data_unregister(rt_, raw_) : NORN_E_WOULD_DEADLOCK;
        if (status == NORN_E_WOULD_DEADLOCK || status == NORN_E_THREAD)
            detail::unregister_later(rt_, raw_, reducer_.release());
        // Anything else than success leaves it to the close, which may still combine.
        else if (status != NORN_OK && status != NORN_E_INVALID)
            (void)reducer_.release();
        raw_ = norn_data{0};
    }

    norn_runtime *rt_;
    norn_data raw_{0};
    view<T> elements_;
    std::unique_ptr<detail::reducer> reducer_;
};

// A pure name to order things by.
template <>
class data<void> {
public:
    template <class... Options>
    explicit data(const runtime_ref &rt, const Options &...options);

    data(data &&other) noexcept : rt_(other.rt_), raw_(std::exchange(other.raw_, norn_data{0})) {}
    data &operator=(data &&other) noexcept {
        data taken(std::move(other));
        std::swap(rt_, taken.rt_);
        std::swap(raw_, taken.raw_);
        return *this;
    }
    ~data() {
        if (raw_.id == 0) return;
        const bool may_wait = detail::drops_in_progress() == 0;
        const norn_status status = may_wait ? norn_data_unregister(rt_, raw_) : NORN_E_WOULD_DEADLOCK;
        if (status == NORN_E_WOULD_DEADLOCK || status == NORN_E_THREAD) detail::unregister_later(rt_, raw_, nullptr);
    }

    void unregister() {
        detail::check(norn_data_unregister(rt_, raw_));
        raw_ = norn_data{0};
    }
    norn_data handle() const noexcept { return raw_; }
    norn_runtime *runtime_handle() const noexcept { return rt_; }

private:
    norn_runtime *rt_;
    norn_data raw_{0};
};

template <class T, class... Options>
data(const runtime_ref &, T *, std::size_t, const Options &...) -> data<T>;
template <class Range, class... Options, class T = detail::element_of<Range>>
data(const runtime_ref &, Range &, const Options &...) -> data<T>;

namespace detail {
template <class T>
void not_const() {
    static_assert(!std::is_const_v<T>, "the elements of this datum are const: it can only be read");
}
} // namespace detail

// The accesses of a task, for submit, acquire and reserve. In the body: read gives view<const T>, reduce a view of the
// task's private copy, the others view<T>.
template <class T>
access<const T> read(part<T> d) noexcept {
    return {norn_read(d.handle()), d.elements()};
}
template <class T>
access<T> write(part<T> d) noexcept {
    detail::not_const<T>();
    return {norn_write(d.handle()), d.elements()};
}
template <class T>
access<T> update(part<T> d) noexcept {
    detail::not_const<T>();
    return {norn_update(d.handle()), d.elements()};
}
template <class T>
access<T> commute(part<T> d) noexcept {
    detail::not_const<T>();
    return {norn_commute(d.handle()), d.elements()};
}
template <class T>
reduce_access<T> reduce(part<T> d) noexcept {
    detail::not_const<T>();
    return {norn_reduce_into(d.handle()), d.runtime_handle()};
}
template <class T>
access<const T> read(const data<T> &d) noexcept {
    return read(d.whole());
}
template <class T>
access<T> write(const data<T> &d) noexcept {
    return write(d.whole());
}
template <class T>
access<T> update(const data<T> &d) noexcept {
    return update(d.whole());
}
template <class T>
access<T> commute(const data<T> &d) noexcept {
    return commute(d.whole());
}
template <class T>
reduce_access<T> reduce(const data<T> &d) noexcept {
    return reduce(d.whole());
}
inline access<void> read(const data<void> &d) noexcept { return access<void>(norn_read(d.handle())); }
inline access<void> write(const data<void> &d) noexcept { return access<void>(norn_write(d.handle())); }
inline access<void> update(const data<void> &d) noexcept { return access<void>(norn_update(d.handle())); }
inline access<void> commute(const data<void> &d) noexcept { return access<void>(norn_commute(d.handle())); }

NORN_CPP_END

#endif
