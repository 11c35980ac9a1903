// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What a running body knows of itself, and the holds that keep its task from completing.
#ifndef NORN_CPP_SELF_HPP
#define NORN_CPP_SELF_HPP

#include "data.hpp"

NORN_CPP_BEGIN

namespace detail {
struct body_access;
}

// Keeps a task from completing after its body has ended, until it is released or destroyed: on any thread, also one
// that norn has never seen. Move-only; never blocks.
class hold {
public:
    hold() noexcept = default;
    hold(hold &&other) noexcept : rt_(other.rt_), token_(other.token_), count_(std::exchange(other.count_, 0)) {}
    hold &operator=(hold &&other) noexcept {
        hold taken(std::move(other));
        std::swap(rt_, taken.rt_);
        std::swap(token_, taken.token_);
        std::swap(count_, taken.count_);
        return *this;
    }
    ~hold() { release(); }

    void release() noexcept {
        if (count_ != 0) (void)norn_unhold(rt_, token_, std::exchange(count_, 0));
    }
    explicit operator bool() const noexcept { return count_ != 0; }

private:
    friend class self;
    hold(norn_runtime *rt, norn_token token) noexcept : rt_(rt), token_(token), count_(1) {}
    norn_runtime *rt_ = nullptr;
    norn_token token_{0};
    std::uint32_t count_ = 0;
};

// The first argument of a body that asks for it, as `norn::self &`. Valid in that body only, on its thread; nothing here
// blocks. Calls throw error unless they are noexcept.
class self {
public:
    self(const self &) = delete;
    self &operator=(const self &) = delete;

    norn_self *handle() const noexcept { return raw_; }
    norn_self_info info() const {
        norn_self_info info = NORN_SELF_INFO_INIT;
        detail::check(norn_self_get(raw_, &info));
        return info;
    }
    runtime_ref runtime() const;
    norn::token token() const { return info().token; }
    // Whether a cancel arrived too late to keep this body from starting.
    bool cancelled() const { return info().cancelled != 0; }

    // Ends an access now: later tasks may use the datum, and what was written is committed.
    template <class T>
    void release(const data<T> &d) {
        detail::check(norn_self_release(raw_, d.handle()));
    }
    template <class T>
    void release(const part<T> &d) {
        detail::check(norn_self_release(raw_, d.handle()));
    }

    // The task completes when the body has ended and all its holds are released.
    norn::hold hold() {
        const norn_self_info i = info();
        detail::check(norn_self_hold(raw_, 1));
        return {i.runtime, i.token};
    }

    // Fails the task without an exception, when the body returns: `code` is not 0, `text` is copied.
    void fail(std::int32_t code, const char *text) noexcept {
        code_ = norn_self_fail(raw_, code != 0 ? code : exception_code, text);
    }

private:
    friend struct detail::body_access;
    explicit self(norn_self *raw) noexcept : raw_(raw) {}
    norn_self *raw_;
    std::int32_t code_ = 0;
};

NORN_CPP_END

#endif
