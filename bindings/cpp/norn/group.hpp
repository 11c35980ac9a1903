// SPDX-License-Identifier: Apache-2.0 OR MIT
#ifndef NORN_CPP_GROUP_HPP
#define NORN_CPP_GROUP_HPP

#include "runtime.hpp"

NORN_CPP_BEGIN

// A group of tasks that ends with a scope: tasks submitted with it as a clause, and what these submit, are its members.
// The destructor closes the group and waits for the members, so that they may refer to what lives outside it; it does
// not throw, and prints a failure that wait() has not shown. Where waiting is impossible (in a member, and where
// a task's closure is destroyed) it only closes. Move-only.
//
//     norn::group g(rt, "sweep");
//     for (auto &block : blocks) rt.submit([&block] { block.update(); }, g);
//     g.wait();
class group {
public:
    // The name is borrowed. Any thread; never blocks; throws error.
    explicit group(const runtime_ref &rt, const char *name = nullptr) : group(rt, name, norn_group{0}) {}
    // A member of `parent`.
    group(const runtime_ref &rt, const group &parent, const char *name = nullptr) : group(rt, name, parent.raw_) {}

    group(group &&other) noexcept
        : rt_(other.rt_), raw_(other.raw_), done_(other.done_), open_(std::exchange(other.open_, false)),
          waits_(std::exchange(other.waits_, false)) {}
    group &operator=(group &&other) noexcept {
        group taken(std::move(other));
        std::swap(rt_, taken.rt_);
        std::swap(raw_, taken.raw_);
        std::swap(done_, taken.done_);
        std::swap(open_, taken.open_);
        std::swap(waits_, taken.waits_);
        return *this;
    }
    ~group() {
        if (open_) (void)norn_group_close(rt_, raw_);
        if (!waits_ || detail::drops_in_progress() != 0) return;
        if (norn_await(rt_, done_, -1) == NORN_OK) return;
        norn_error_info record = NORN_ERROR_INFO_INIT;
        if (norn_error(rt_, done_, &record) == NORN_OK && record.cause_status == NORN_E_TASK_FAILED)
            std::fprintf(stderr, "norn: a group was destroyed without a look at its failure: task \"%s\" failed with code %d: %s\n",
                         record.task, static_cast<int>(record.code), record.text);
    }

    norn_group handle() const noexcept { return raw_; }
    // Completes when the group is closed and its members are complete; fails with the first member's failure.
    future<void> done() const noexcept { return detail::future_maker::make(rt_, done_); }

    // No more members from outside. Never blocks; throws error (NORN_E_STATE) the second time.
    void close() {
        detail::check(norn_group_close(rt_, raw_));
        open_ = false;
    }
    // Closes it if it is open, waits for the members and, where one failed, throws a norn::error that names the first failure:
    // its cause() is the exception. Blocks.
    void wait() {
        if (open_) close();
        waits_ = false;
        done().get();
    }
    // Closes it if it is open; the destructor will not wait.
    void detach() {
        if (open_) close();
        waits_ = false;
    }
    // Cancels the members that have not started. False when the group was complete already. Never blocks.
    bool cancel() const { return runtime_ref(rt_).cancel(done_); }

private:
    group(const runtime_ref &rt, const char *name, norn_group parent) : rt_(rt.handle()) {
        detail::check(norn_group_open(rt_, name, parent, &raw_, &done_));
    }
    norn_runtime *rt_;
    norn_group raw_{0};
    norn_token done_{0};
    bool open_ = true;
    bool waits_ = true;
};

namespace detail {
template <>
struct clause<group> : clause_of_none {
    static void put(const group &g, norn_task &task, norn_token *&, norn_access *&) noexcept { task.group = g.handle(); }
};
} // namespace detail

NORN_CPP_END

#endif
