// Values from a task to get(), to dependants, and from promises.
#include "check.hpp"

#include <memory>
#include <vector>

TEST(a_value_reaches_get) {
    norn::runtime rt;
    CHECK_EQUAL(rt.submit([] { return 42; }).get(), 42);
}

TEST(a_move_only_value) {
    norn::runtime rt;
    auto f = rt.submit([] { return std::make_unique<int>(7); });
    auto g = f.then([](std::unique_ptr<int> p) {
        ++*p;
        return p;
    });
    CHECK(!f.valid());
    const std::unique_ptr<int> p = g.get();
    CHECK_EQUAL(*p, 8);
}

TEST(a_reference) {
    norn::runtime rt;
    int number = 1;
    norn::future<int &> f = rt.submit([&number]() -> int & { return number; });
    int &same = f.get();
    CHECK(&same == &number);
    norn::future<void> g = rt.submit([&number]() -> int & { return number; }).then([](int &n) { n = 5; });
    g.get();
    CHECK_EQUAL(number, 5);
}

TEST(an_rvalue_reference) {
    norn::runtime rt;
    only_moved object(4);
    norn::future<only_moved &&> f = rt.submit([&]() -> only_moved && { return std::move(object); });
    CHECK_EQUAL(f.then([](only_moved &&o) { return &o; }).get() == &object, true);
    norn::promise<only_moved &&> p(rt);
    p.set_value(std::move(object));
    const only_moved taken = p.get_future().get();
    CHECK_EQUAL(taken.value, 4);
}

TEST(a_value_that_cannot_move_is_read_in_its_place) {
    struct fixed {
        int value;
        explicit fixed(int v) : value(v) {}
        fixed(const fixed &) = delete;
    };
    norn::runtime rt;
    norn::shared_future<fixed> f = rt.submit([] { return fixed(9); }).share();
    CHECK_EQUAL(f.get().value, 9);
    CHECK_EQUAL(f.then([](const fixed &x) { return x.value + 1; }).get(), 10);
}

TEST(of_void) {
    norn::runtime rt;
    int order = 0;
    norn::future<void> f = rt.submit([&] { order = 1; });
    norn::future<void> g = f.then([&] { order = order * 10 + 2; });
    const norn::future<void> copy = g;
    g.get();
    copy.get(); // as often as one likes
    CHECK_EQUAL(order, 12);
    CHECK_EQUAL(f.share().then([&] { return order; }).get(), 12);
}

TEST(taken_once) {
    norn::runtime rt;
    norn::future<int> f = rt.submit([] { return 1; });
    CHECK(f.valid());
    CHECK_EQUAL(f.get(), 1);
    CHECK(!f.valid());
    CHECK_EQUAL(THROWN(norn::error, f.get()).status(), NORN_E_STATE);
    CHECK_EQUAL(THROWN(norn::error, f.then([](int) {})).status(), NORN_E_STATE);
    CHECK_EQUAL(THROWN(norn::error, norn::future<int>().get()).status(), NORN_E_STATE);
    CHECK_EQUAL(THROWN(norn::error, norn::future<void>().get()).status(), NORN_E_STATE);
}

TEST(try_submit_refuses_a_future_without_value) {
    norn::runtime rt;
    norn::future<int> f = rt.submit([] { return 1; }), g = std::move(f);
    CHECK_EQUAL(rt.try_submit([](int) {}, std::move(f)).status(), NORN_E_STATE);
    CHECK_EQUAL(rt.try_submit([](int) {}, norn::shared_future<int>()).status(), NORN_E_STATE);
    CHECK_EQUAL(rt.try_submit([](int, int) {}, std::move(g), std::move(g)).status(), NORN_E_STATE);
    CHECK_EQUAL(g.get(), 1); // a refusal for want of a value takes none
}

TEST(several_futures_to_one_task) {
    norn::runtime rt;
    auto a = rt.submit([] { return std::string("a"); });
    auto b = rt.submit([] { return 2; });
    auto nothing = rt.submit([] {});
    auto all = rt.submit([](std::string s, int n) { return s + std::to_string(n); }, std::move(a), nothing, std::move(b));
    CHECK(all.get() == "a2");
    CHECK(!a.valid() && !b.valid());
}

TEST(many_read_one_value) {
    norn::runtime rt;
    norn::shared_future<std::vector<int>> numbers = rt.submit([] { return std::vector<int>(100, 1); }).share();
    std::vector<norn::future<long>> sums;
    for (int i = 0; i < 50; ++i)
        sums.push_back(numbers.then([i](const std::vector<int> &v) { return static_cast<long>(v.size()) + i; }));
    for (int i = 0; i < 50; ++i) CHECK_EQUAL(sums[static_cast<std::size_t>(i)].get(), 100 + i);
    CHECK_EQUAL(numbers.get().size(), 100);
}

TEST(a_value_nobody_takes_is_destroyed) {
    norn::runtime rt;
    rt.submit([] { return only_moved(1); });
    norn::future<only_moved> kept = rt.submit([] { return only_moved(2); });
    rt.drain();
    CHECK_EQUAL(counted::alive, 1);
    kept = {};
    CHECK_EQUAL(counted::alive, 0);
}

TEST(a_value_goes_with_the_dependant_that_never_ran) {
    norn::runtime rt;
    const norn::token bad = rt.submit([] { throw 1; });
    auto f = rt.submit([] { return only_moved(1); }).then([](only_moved) {}, bad);
    CHECK(f.wait().value() == NORN_E_PROPAGATED);
    rt.drain();
    CHECK_EQUAL(counted::alive, 0);
}

TEST(a_future_outlives_its_runtime) {
    norn::future<only_moved> f;
    norn::shared_future<int> s;
    {
        norn::runtime rt;
        f = rt.submit([] { return only_moved(3); });
        s = rt.submit([] { return 4; }).share();
    }
    CHECK_EQUAL(THROWN(norn::error, f.get()).status(), NORN_E_INVALID);
    CHECK_EQUAL(THROWN(norn::error, s.get()).status(), NORN_E_INVALID);
}

TEST(a_chain) {
    norn::runtime rt;
    norn::future<int> f = rt.submit([] { return 0; });
    for (int i = 0; i < 10000; ++i) f = f.then([](int n) { return n + 1; });
    CHECK_EQUAL(f.get(), 10000);
}

TEST(waiting_with_a_limit) {
    norn::runtime rt;
    norn::promise<int> p(rt);
    norn::future<int> f = p.get_future();
    CHECK(!f.ready());
    CHECK(f.wait_for(std::chrono::seconds(0)).value() == NORN_E_TIMEOUT);
    CHECK(f.wait_for(std::chrono::milliseconds(-5)).value() == NORN_E_TIMEOUT);
    CHECK(f.wait_for(std::chrono::microseconds(50)).value() == NORN_E_TIMEOUT);
    p.set_value(1);
    CHECK(!f.wait());
    CHECK(!f.wait_for(std::chrono::hours(1000000)));
    CHECK(f.ready());
    CHECK_EQUAL(f.get(), 1);
}

TEST(a_wait_that_was_refused_leaves_the_future_valid) {
    norn::runtime rt;
    norn::future<int> f;
    norn::promise<int> p(rt);
    f = p.get_future();
    rt.seal();
    CHECK_EQUAL(THROWN(norn::error, f.get()).status(), NORN_E_DEADLOCK);
    CHECK(f.valid());
}

TEST(promises) {
    norn::runtime rt;
    norn::promise<std::string> p(rt, "text");
    norn::future<std::string> f = p.get_future();
    CHECK_EQUAL(THROWN(norn::error, p.get_future()).status(), NORN_E_STATE);
    std::thread([q = std::move(p)]() mutable {
        q.set_value(3u, 'x');
        CHECK_EQUAL(THROWN(norn::error, q.set_value("again")).status(), NORN_E_STATE);
    }).join();
    CHECK(f.get() == "xxx");

    norn::promise<void> v(rt);
    norn::future<void> after = v.get_future().then([] {});
    v.set_value();
    after.get();
    CHECK_EQUAL(THROWN(norn::error, v.set_value()).status(), NORN_E_STATE);
}

TEST(a_promise_that_was_moved_from_refuses) {
    norn::runtime rt;
    norn::promise<void> p(rt), q(std::move(p));
    norn::promise<int> a(rt), b(std::move(a));
    CHECK_SAYS(THROWN(norn::error, p.set_value()).what(), "moved from");
    CHECK_EQUAL(THROWN(norn::error, p.fail(3, "by p")).status(), NORN_E_STATE);
    CHECK_EQUAL(THROWN(norn::error, a.set_value(1)).status(), NORN_E_STATE);
    CHECK_EQUAL(THROWN(norn::error, a.fail(3, "by a")).status(), NORN_E_STATE);
    CHECK_EQUAL(THROWN(norn::error, a.set_exception(std::make_exception_ptr(1))).status(), NORN_E_STATE);
    CHECK_EQUAL(THROWN(norn::error, a.get_future()).status(), NORN_E_STATE);
    q.set_value();
    b.set_value(1);
    q.get_future().get();
    CHECK_EQUAL(b.get_future().get(), 1);
}

TEST(a_promise_moved_to_itself_stays) {
    norn::runtime rt;
    norn::promise<int> p(rt);
    norn::promise<int> &same = p;
    p = std::move(same);
    p.set_value(2);
    CHECK_EQUAL(p.get_future().get(), 2);
}

TEST(a_promise_that_breaks) {
    norn::runtime rt;
    norn::future<int> f;
    {
        norn::promise<int> p(rt);
        f = p.get_future();
        norn::promise<int> other(rt);
        other = std::move(p); // breaks the other one, of which nobody has a future
    }
    const norn::error e = THROWN(norn::error, f.get());
    CHECK_EQUAL(e.record()->code, norn::broken_promise_code);
    CHECK(!f.valid());
}

TEST(a_promise_that_was_cancelled) {
    norn::runtime rt;
    norn::promise<only_moved> p(rt);
    norn::future<only_moved> f = p.get_future();
    CHECK(rt.cancel(f));
    CHECK_EQUAL(THROWN(norn::error, p.set_value(1)).status(), NORN_E_STATE);
    CHECK_EQUAL(THROWN(norn::error, f.get()).status(), NORN_E_CANCELLED);
}

TEST(inside_a_body) {
    norn::runtime rt;
    const int got = rt.submit([](norn::self &self) {
                          norn::future<int> inner = self.runtime().submit([] { return 20; });
                          return inner.get() + 1;
                      }).get();
    CHECK_EQUAL(got, 21);
}

TEST(awaiting_several) {
    norn::runtime rt;
    std::vector<norn::token> tokens;
    for (int i = 0; i < 10; ++i) tokens.push_back(rt.submit([] {}));
    rt.await(norn::after(tokens));
    rt.await(norn::after(std::vector<norn::token>()));
    CHECK(rt.await_any(norn::after(tokens)) == 0);
    const norn::token all = rt.submit([] {}, norn::after(tokens), tokens[0]);
    CHECK(!rt.try_await(all));
    for (int i = 0; i < 100; ++i) tokens.push_back(rt.submit([] {})); // more than fit on the stack
    rt.submit([] {}, norn::after(tokens)).get();
    tokens.push_back(rt.submit([] { throw std::range_error("one of many"); }));
    CHECK_SAYS(THROWN(std::range_error, rt.await(norn::after(tokens))).what(), "one of many");
}

TEST(after_a_range_of_futures) {
    norn::runtime rt;
    std::vector<norn::future<int>> numbers;
    std::vector<norn::future<void>> none, voids{rt.submit([] { throw std::range_error("before"); })};
    for (int i = 0; i < 40; ++i) numbers.push_back(rt.submit([i] { return i; }));
    rt.submit([] {}, norn::after(numbers), norn::after(none)).get();
    CHECK_EQUAL(numbers[39].get(), 39); // the values stay
    CHECK_EQUAL(THROWN(norn::error, rt.submit([] {}, norn::after(voids)).get()).status(), NORN_E_PROPAGATED);
}

TEST(callbacks) {
    norn::runtime rt;
    std::atomic<int> seen{0};
    norn::promise<int> answer(rt);
    norn::future<int> f = answer.get_future();
    const norn::token bad = rt.submit([] { throw 1; });
    rt.on_complete(bad, [&seen, o = only_moved(1), a = std::move(answer)](std::error_code e) mutable {
        ++seen;
        a.set_value(e.value());
    });
    CHECK_EQUAL(f.get(), NORN_E_TASK_FAILED);
    rt.drain();
    CHECK_EQUAL(seen, 1);
}

TEST(tokens_are_plain_numbers) {
    static_assert(sizeof(norn::token) == 8 && std::is_trivially_copyable_v<norn::token> && std::is_standard_layout_v<norn::token>);
    norn::runtime rt;
    const norn_token raw = rt.submit([] {}).token();
    const norn::token same = raw;
    CHECK(same == norn::token(raw) && same != norn::token());
    CHECK(rt.ready(norn::token()));
    rt.submit([] {}, raw, norn::token()).get();
}

TEST(declared_edges_and_held_tasks) {
    norn::runtime rt;
    std::string order;
    const norn::token last = rt.declare("last");
    const norn::token held = rt.submit([&] { order += 'b'; }, norn::held, norn::name("held"));
    const norn::token first = rt.submit([&] { order += 'a'; });
    rt.edge(first, held);
    rt.edge(held, last);
    rt.start(held);
    CHECK(rt.submit([&] { order += 'c'; }, norn::as(last), norn::priority(3)).token() == last);
    rt.await(last);
    CHECK(order == "abc");
}

TEST(a_runtime_is_closed_by_its_destructor) {
    std::atomic<int> ran{0};
    {
        norn::runtime rt;
        norn::runtime other = std::move(rt);
        CHECK(!rt && other);
        rt = std::move(other);
        for (int i = 0; i < 100; ++i) rt.submit([&] { ++ran; });
    }
    CHECK_EQUAL(ran, 100);
    norn::result<norn::runtime> opened = norn::runtime::open();
    CHECK(opened);
    opened->submit([&] { ++ran; });
    norn::config bad;
    bad.workers = -7;
    if (std::getenv("NORN_WORKERS") == nullptr) CHECK_EQUAL(norn::runtime::open(bad).status(), NORN_E_CONFIG);
}
