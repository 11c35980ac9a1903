// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What a norn status is in C++: norn::error, and the exceptions that tasks have thrown.
//
// An exception cannot cross the C ABI. The one that leaves a body is stopped there, fails the task with its what() as
// the record's text, and is kept in a table by runtime and token. Whoever asks for the outcome of that token gets it
// rethrown; whoever asks for a dependant gets a norn::error that names the first cause and points to it. The table is
// one per process (per shared library where symbols are hidden: what is not found there is a norn::error with the
// record), is touched by failures only, and is emptied when norn::runtime closes.
#ifndef NORN_CPP_ERROR_HPP
#define NORN_CPP_ERROR_HPP

#include "version.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <typeinfo>
#include <utility>

#if __has_include(<cxxabi.h>)
#include <cxxabi.h>
#define NORN_CPP_CXXABI 1
#else
#define NORN_CPP_CXXABI 0
#endif

NORN_CPP_BEGIN

// Code in the record of a task that an exception ended, other than norn::failure.
inline constexpr std::int32_t exception_code = 1;
// Code in the record of a promise that was destroyed before it had a value.
inline constexpr std::int32_t broken_promise_code = 2;

// The category of norn's statuses in std::error_code. Any thread; never blocks.
inline const std::error_category &category() noexcept {
    class status_category final : public std::error_category {
        const char *name() const noexcept override { return "norn"; }
        std::string message(int status) const override { return norn_status_name(status); }
    };
    static const status_category instance;
    return instance;
}

// NORN_OK gives an error_code that is false.
inline std::error_code make_error_code(norn_status status) noexcept { return {status, category()}; }

// What norn throws: a status, the sentence that belongs to it and, when it says how a token ended, the record.
// Copying it never throws.
class error : public std::system_error {
public:
    // A call that was refused.
    error(norn_status status, const std::string &text) : std::system_error(make_error_code(status), text) {}

    // A token that did not succeed. `cause`: the exception that was the first cause, if it is known.
    error(const norn_error_info &record, std::exception_ptr cause)
        : std::system_error(make_error_code(record.status), sentence(record)),
          record_(std::make_shared<const norn_error_info>(record)), cause_(std::move(cause)) {}

    norn_status status() const noexcept { return code().value(); }

    // The record of the failure, which names the first cause; NULL when a call was refused. Lives as long as the error.
    const norn_error_info *record() const noexcept { return record_.get(); }

    // The exception that failed first; null if the first cause was none, or came from code that does not use norn.hpp.
    const std::exception_ptr &cause() const noexcept { return cause_; }

private:
    static std::string sentence(const norn_error_info &record) {
        std::string text = record.status == NORN_E_PROPAGATED ? "did not succeed because " : "";
        text += record.task[0] != '\0' ? std::string("task \"") + record.task + "\"" : std::string("a task without name");
        if (record.cause_status == NORN_E_TASK_FAILED)
            text += " failed with code " + std::to_string(record.code);
        else
            text += std::string(" ended with ") + norn_status_name(record.cause_status);
        if (record.text[0] != '\0') text += std::string(": ") + record.text;
        return text;
    }

    std::shared_ptr<const norn_error_info> record_;
    std::exception_ptr cause_;
};

// Thrown by a body that wants to choose the code of its record, which C, Fortran and other ranks see.
class failure : public std::runtime_error {
public:
    // `code`: not 0.
    failure(std::int32_t code, const std::string &text) : std::runtime_error(text), code_(code) {}
    std::int32_t code() const noexcept { return code_; }

private:
    std::int32_t code_;
};

// What a try_ call gives: a value, or a status.
template <class T>
class result {
public:
    result(T value) noexcept(std::is_nothrow_move_constructible_v<T>) : status_(NORN_OK) { new (&value_) T(std::move(value)); }
    result(norn_status status) noexcept : status_(status) {}
    result(result &&other) noexcept(std::is_nothrow_move_constructible_v<T>) : status_(other.status_) {
        if (status_ == NORN_OK) new (&value_) T(std::move(other.value_));
    }
    result &operator=(result &&) = delete;
    ~result() {
        if (status_ == NORN_OK) value_.~T();
    }

    explicit operator bool() const noexcept { return status_ == NORN_OK; }
    bool has_value() const noexcept { return status_ == NORN_OK; }
    norn_status status() const noexcept { return status_; }
    std::error_code error() const noexcept { return make_error_code(status_); }

    // Only of a result that has a value.
    T &operator*() & noexcept { return value_; }
    T &&operator*() && noexcept { return std::move(value_); }
    T *operator->() noexcept { return &value_; }

private:
    norn_status status_;
    union {
        T value_;
    };
};

namespace detail {

[[noreturn]] inline void give_up(const char *text) noexcept {
    std::fprintf(stderr, "norn: %s\n", text);
    std::abort();
}

template <class E>
[[noreturn]] void raise(const E &e) {
#if NORN_CPP_EXCEPTIONS
    throw e;
#else
    give_up(e.what());
#endif
}

// The error of the call that has just returned `status` on this thread.
[[noreturn]] inline void raise_refused(norn_status status) { raise(error(status, norn_last_error())); }
[[noreturn]] inline void raise_status(norn_status status, const char *text) { raise(error(status, text)); }

inline void check(norn_status status) {
    if (status != NORN_OK) raise_refused(status);
}

// See the top of the file. The mutex guards the map; it is held across no call of norn or of the application, except
// for the destruction of exceptions that nobody refers to any more.
class kept_exceptions {
public:
    // Not destroyed: tasks of a runtime that is never closed run until the process ends.
    static kept_exceptions &instance() {
        static kept_exceptions *const all = new kept_exceptions;
        return *all;
    }

    void keep(norn_runtime *rt, norn_token token, std::exception_ptr exception) {
        std::lock_guard<std::mutex> lock(mutex_);
        kept_[{rt, token.id}] = std::move(exception);
    }

    std::exception_ptr find(norn_runtime *rt, norn_token token) {
        std::lock_guard<std::mutex> lock(mutex_);
        const auto found = kept_.find({rt, token.id});
        return found == kept_.end() ? std::exception_ptr() : found->second;
    }

    void forget(norn_runtime *rt, norn_token token) {
        std::lock_guard<std::mutex> lock(mutex_);
        kept_.erase({rt, token.id});
    }

    void forget(norn_runtime *rt) {
        std::map<key, std::exception_ptr> gone;
        std::lock_guard<std::mutex> lock(mutex_);
        for (auto at = kept_.lower_bound({rt, 0}); at != kept_.end() && at->first.first == rt;) {
            const auto next = std::next(at);
            gone.insert(kept_.extract(at));
            at = next;
        }
    }

private:
    using key = std::pair<norn_runtime *, std::uint64_t>;
    std::mutex mutex_;
    std::map<key, std::exception_ptr> kept_;
};

#if NORN_CPP_EXCEPTIONS
// Code and text of the exception being handled.
struct described {
    std::int32_t code = exception_code;
    std::string text;
};

inline described describe_current() {
    described d;
    try {
        throw;
    } catch (const failure &e) {
        d.code = e.code() != 0 ? e.code() : exception_code;
        d.text = e.what();
    } catch (const std::exception &e) {
        d.text = e.what();
    } catch (...) {
        d.text = "an exception that is no std::exception";
#if NORN_CPP_CXXABI
        if (const std::type_info *type = abi::__cxa_current_exception_type()) {
            int status = 0;
            char *name = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
            d.text = std::string("an exception of type ") + (name != nullptr ? name : type->name());
            std::free(name);
        }
#endif
    }
    return d;
}
#endif

// Throws what a token ended with; `status` is what the await of it has just returned on this thread.
[[noreturn]] inline void raise_outcome(norn_runtime *rt, norn_token token, norn_status status) {
    const std::string text = norn_last_error();
    norn_error_info record = NORN_ERROR_INFO_INIT;
    if (norn_error(rt, token, &record) != NORN_OK || record.status == NORN_OK) raise(error(status, text));
    std::exception_ptr cause;
#if NORN_CPP_EXCEPTIONS
    cause = kept_exceptions::instance().find(rt, record.cause);
    if (cause && record.status == NORN_E_TASK_FAILED) std::rethrow_exception(cause);
#endif
    raise(error(record, std::move(cause)));
}

} // namespace detail

NORN_CPP_END

#endif
