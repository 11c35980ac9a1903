// norn::task, and co_await on tokens and futures.
#include "check.hpp"

#include <coroutine>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <vector>

static norn::task<int> number(int n) { co_return n; }

static norn::task<int> sum_of(int n) {
    int sum = 0;
    for (int i = 0; i < n; ++i) sum += co_await number(1);
    co_return sum;
}

// Destroyed where it waits; or, while the wait was just being made, refused there by the cancelled group.
static void check_cancelled(norn::future<int> f) {
    const norn_status status = THROWN(norn::error, f.get()).status();
    CHECK(status == NORN_E_CANCELLED || status == NORN_E_CLOSED);
}

// Waits for the gate inside `depth` coroutines that wait for each other.
static norn::task<int> nested(norn::token gate, int depth, std::atomic<bool> *reached = nullptr) {
    only_moved o(1);
    if (depth == 0) {
        if (reached != nullptr) *reached = true;
        co_await gate;
        co_return 0;
    }
    const int inner = co_await nested(gate, depth - 1, reached);
    co_return inner + o.value;
}

TEST(a_coroutine_has_a_value) {
    norn::runtime rt;
    CHECK_EQUAL(norn::spawn(rt, number(42)).get(), 42);
}

TEST(lazy) {
    norn::runtime rt;
    bool ran = false;
    const auto body = [](bool &r, only_moved) -> norn::task<> {
        r = true;
        co_return;
    };
    {
        norn::task<> t = body(ran, only_moved(1));
        CHECK(t.valid());
        CHECK_EQUAL(counted::alive, 1);
    } // destroyed with its arguments, never run
    CHECK(!ran);
    CHECK_EQUAL(counted::alive, 0);
    norn::spawn(rt, body(ran, only_moved(1))).get();
    CHECK(ran);
    norn::task<> moved = body(ran, only_moved(1));
    norn::task<> taken = std::move(moved);
    CHECK_EQUAL(THROWN(norn::error, norn::spawn(rt, std::move(moved))).status(), NORN_E_STATE);
}

TEST(awaiting_futures_and_tokens) {
    norn::runtime rt;
    norn::promise<std::unique_ptr<int>> p(rt);
    const norn::token token = rt.submit([] {});
    norn::shared_future<std::string> shared = rt.submit([] { return std::string("s"); }).share();
    auto f = norn::spawn(rt, [&](norn::future<std::unique_ptr<int>> a) -> norn::task<std::string> {
        co_await token;
        const std::unique_ptr<int> n = co_await std::move(a);
        const std::string &s = co_await shared;
        norn::runtime_ref here = co_await norn::this_runtime;
        norn::future<int> inner = here.submit([] { return 5; });
        const int five = co_await inner;
        CHECK(!inner.valid());
        co_await here.submit([] {});
        co_return s + std::to_string(*n + five);
    }, p.get_future());
    CHECK(!f.ready());
    p.set_value(std::make_unique<int>(10));
    CHECK(f.get() == "s15");
}

TEST(a_reference) {
    norn::runtime rt;
    int n = 1;
    const auto refers = [](int &r) -> norn::task<int &> { co_return r; };
    int &same = norn::spawn(rt, [&]() -> norn::task<int &> { co_return co_await refers(n); }).get();
    CHECK(&same == &n);
}

TEST(the_stack_does_not_grow) {
    norn::runtime rt;
    CHECK_EQUAL(norn::spawn(rt, sum_of(300000)).get(), 300000);
    // Nested as deep: each waits for the next inner one.
    norn::promise<void> gate(rt);
    auto f = norn::spawn(rt, nested(gate.token(), 200000));
    gate.set_value();
    CHECK_EQUAL(f.get(), 200000);
}

TEST(the_stack_does_not_grow_when_destroyed) {
    norn::runtime rt;
    norn::promise<void> gate(rt);
    norn::group g(rt);
    std::atomic<bool> reached{false};
    auto f = norn::spawn(rt, nested(gate.token(), 200000, &reached), g);
    while (!reached) rt.progress();
    while (!f.ready()) g.cancel(); // until the step that waits for the gate is there
    check_cancelled(std::move(f));
    g.close();
    (void)rt.try_await(g.done());
    // The same by an exception.
    auto bad = norn::spawn(rt, nested(gate.token(), 200000));
    gate.fail(1, "gate");
    CHECK_EQUAL(THROWN(norn::error, bad.get()).status(), NORN_E_TASK_FAILED);
}

TEST(no_thread_is_held_while_waiting) {
    norn::runtime rt;
    norn::promise<int> gate(rt);
    norn::shared_future<int> f = gate.get_future().share();
    std::vector<norn::future<int>> all;
    for (int i = 0; i < 1000; ++i)
        all.push_back(norn::spawn(rt, [f, i]() -> norn::task<int> { co_return i + co_await f; }));
    const int threads = rt.stats().threads;
    rt.submit([] {}).get(); // the workers are free
    CHECK_EQUAL(rt.stats().blocked_bodies, 0);
    gate.set_value(1);
    for (int i = 0; i < 1000; ++i) CHECK_EQUAL(all[static_cast<std::size_t>(i)].get(), i + 1);
    CHECK(rt.stats().threads <= threads + 1);
}

TEST(exceptions_pass_through_coroutines) {
    norn::runtime rt;
    const auto throws = []() -> norn::task<int> {
        co_await (co_await norn::this_runtime).submit([] {});
        throw std::range_error("inner");
    };
    auto f = norn::spawn(rt, [&](only_moved o) -> norn::task<int> {
        try {
            co_await throws();
        } catch (const std::range_error &) {
        }
        co_return co_await throws() + o.value;
    }, only_moved(1));
    CHECK_SAYS(THROWN(std::range_error, f.get()).what(), "inner");
    CHECK_EQUAL(counted::alive, 0);
    auto dependant = norn::spawn(rt, [&]() -> norn::task<> { throw norn::failure(5, "code"); co_return; });
    CHECK_EQUAL(THROWN(norn::failure, dependant.get()).code(), 5);
    CHECK_EQUAL(rt.record(dependant).code, 5);
}

TEST(failures_are_thrown_at_the_co_await) {
    norn::runtime rt;
    auto f = norn::spawn(rt, [&rt]() -> norn::task<int> {
        int caught = 0;
        try {
            co_await rt.submit([]() -> int { throw std::range_error("task"); });
        } catch (const std::range_error &) {
            caught += 1;
        }
        auto bad = rt.submit([] { throw 1; });
        auto propagated = rt.submit([] {}, bad);
        try {
            co_await propagated;
        } catch (const norn::error &e) {
            if (e.status() == NORN_E_PROPAGATED) caught += 10;
        }
        try {
            co_await norn::token(norn_token{~std::uint64_t(0)});
        } catch (const norn::error &e) {
            if (e.status() == NORN_E_INVALID) caught += 100;
        }
        try {
            co_await norn::future<int>();
        } catch (const norn::error &e) {
            if (e.status() == NORN_E_STATE) caught += 1000;
        }
        co_return caught;
    });
    CHECK_EQUAL(f.get(), 1111);
}

TEST(the_frame_goes_before_the_future_completes) {
    norn::runtime rt;
    for (int i = 0; i < 200; ++i) {
        norn::spawn(rt, [&rt](only_moved) -> norn::task<> { co_await rt.submit([] {}); }, only_moved(1)).get();
        CHECK_EQUAL(counted::alive, 0);
    }
}

static norn::task<int> waits_for(norn::token t, only_moved o) {
    only_moved local(2);
    co_await t;
    co_return o.value + local.value;
}

TEST(destroyed_once_when_its_future_is_cancelled) {
    norn::runtime rt;
    norn::promise<void> gate(rt);
    bool went_on = false;
    auto f = norn::spawn(rt, [&](only_moved) -> norn::task<int> {
        const int n = co_await waits_for(gate.token(), only_moved(1));
        went_on = true;
        co_return n;
    }, only_moved(1));
    CHECK(rt.cancel(f));
    CHECK_EQUAL(THROWN(norn::error, f.get()).status(), NORN_E_CANCELLED);
    gate.set_value();
    rt.drain();
    CHECK(!went_on);
    CHECK_EQUAL(counted::alive, 0);
}

TEST(destroyed_at_once_when_its_group_is_cancelled) {
    norn::runtime rt;
    norn::promise<void> gate(rt);
    std::atomic<bool> reached{false};
    norn::group g(rt);
    auto f = norn::spawn(rt, nested(gate.token(), 3, &reached), g, norn::name("member"));
    while (!reached) rt.progress();
    while (!f.ready()) g.cancel(); // until the step that waits for the gate is there
    check_cancelled(std::move(f));
    g.close();
    (void)rt.try_await(g.done());
    CHECK_EQUAL(counted::alive, 0);
    gate.set_value();
}

TEST(destroyed_once_when_closed_with_cancel) {
    norn::runtime rt;
    const norn::token never = rt.declare("never");
    for (int i = 0; i < 20; ++i) (void)norn::spawn(rt, waits_for(never, only_moved(1)));
    rt.cancel_and_close();
    CHECK_EQUAL(counted::alive, 0);
}

TEST(destroyed_once_when_closed_with_nobody_to_complete_it) {
    norn::runtime rt;
    const norn::token never = rt.declare("never");
    auto f = norn::spawn(rt, waits_for(never, only_moved(1)));
    auto nested = norn::spawn(rt, [never]() -> norn::task<int> { co_return co_await waits_for(never, only_moved(1)); });
    (void)rt.try_close(NORN_DRAIN, std::chrono::hours(1));
    CHECK_EQUAL(counted::alive, 0);
}

TEST(a_close_is_not_called_a_cancel) {
    std::atomic<int> seen{0};
    {
        norn::runtime rt;
        const norn::token never = rt.declare("never");
        (void)norn::spawn(rt, [&seen](norn::token t) -> norn::task<void> {
            try {
                co_await t;
            } catch (const norn::error &e) {
                seen = e.status();
            }
        }, never);
        (void)rt.try_close(NORN_DRAIN, std::chrono::hours(1));
    }
    CHECK_EQUAL(seen, NORN_E_CLOSED);
}

TEST(destroyed_once_when_refused) {
    norn::runtime rt;
    rt.seal();
    CHECK_EQUAL(THROWN(norn::error, norn::spawn(rt, waits_for(norn::token(), only_moved(1)))).status(), NORN_E_CLOSED);
    CHECK_EQUAL(counted::alive, 0);
}

TEST(a_future_outlives_its_coroutine) {
    norn::future<only_moved> f;
    {
        norn::runtime rt;
        f = norn::spawn(rt, []() -> norn::task<only_moved> { co_return only_moved(1); });
        f.wait();
    }
    CHECK_EQUAL(counted::alive, 1);
    f = {};
    CHECK_EQUAL(counted::alive, 0);
}

TEST(bodies_may_block_in_a_coroutine) {
    norn::runtime rt;
    CHECK_EQUAL(norn::spawn(rt, [&rt]() -> norn::task<int> { co_return rt.submit([] { return 3; }).get(); }).get(), 3);
}

TEST(when_all_and_when_any) {
    norn::runtime rt;
    auto f = norn::spawn(rt, [&rt]() -> norn::task<int> {
        std::vector<norn::future<int>> parts;
        for (int i = 0; i < 10; ++i) parts.push_back(norn::spawn(rt, number(i)));
        const std::size_t first = co_await norn::when_any(rt, parts);
        const std::vector<int> all = co_await norn::when_all(rt, std::move(parts));
        co_return std::accumulate(all.begin(), all.end(), first < 10 ? 0 : 1000);
    });
    CHECK_EQUAL(f.get(), 45);
}

TEST(coroutines_of_many_threads_awaiting_each_other) {
    norn::runtime rt;
    std::vector<norn::shared_future<int>> made;
    made.push_back(norn::spawn(rt, number(1)).share());
    made.push_back(norn::spawn(rt, number(1)).share());
    for (int i = 2; i < 90; ++i)
        made.push_back(norn::spawn(rt, [a = made[made.size() - 1], b = made[made.size() - 2]]() -> norn::task<int> {
                           co_return (co_await a + co_await b) % 1000007;
                       }).share());
    int a = 1, b = 1;
    for (int i = 2; i < 90; ++i) b = std::exchange(a, (a + b) % 1000007);
    CHECK_EQUAL(made.back().get(), a);
}

// A coroutine type of somebody else.
struct fire_and_forget {
    struct promise_type {
        fire_and_forget get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { check_end(); }
    };
};

TEST(coroutines_of_others_await_futures) {
    norn::runtime rt;
    norn::promise<int> answer(rt), gate(rt);
    norn::future<int> result = answer.get_future();
    [](norn::runtime_ref r, norn::future<int> f, norn::promise<int> a) -> fire_and_forget {
        only_moved local(1);
        const int n = co_await std::move(f);
        co_await r.watch(r.submit([] {}));
        int caught = 0;
        try {
            co_await r.submit([] { throw std::range_error("x"); });
        } catch (const std::range_error &) {
            caught = 100;
        }
        a.set_value(n + caught);
    }(rt, gate.get_future(), std::move(answer));
    CHECK(!result.ready());
    gate.set_value(11);
    CHECK_EQUAL(result.get(), 111);
    rt.drain();
}

TEST(a_coroutine_of_others_is_resumed_when_its_step_is_cancelled) {
    norn::runtime rt;
    norn::promise<void> gate(rt);
    norn::group g(rt);
    bool unwound = false;
    rt.submit([&](norn::self &self) {
        [](norn::future<void> f, bool &u) -> fire_and_forget {
            only_moved local(1);
            try {
                co_await f;
            } catch (const norn::error &) { // not complete: the wait itself was cancelled
                u = true;
            }
        }(gate.get_future(), unwound);
        (void)self;
    }, g).get();
    CHECK(g.cancel());
    g.close();
    (void)rt.try_await(g.done());
    CHECK_EQUAL(counted::alive, 0);
    gate.set_value();
}
