// Groups that end with a scope, and one future for several.
#include "check.hpp"

#include <memory>
#include <numeric>
#include <vector>

TEST(a_group_waits_for_its_members) {
    norn::runtime rt;
    std::atomic<int> ran{0};
    {
        norn::group g(rt, "scope");
        for (int i = 0; i < 100; ++i)
            rt.submit([&](norn::self &self) {
                ++ran;
                self.runtime().submit([&] { ++ran; }); // a member too
            }, g);
    }
    CHECK_EQUAL(ran, 200);
}

TEST(waiting_shows_the_first_failure) {
    norn::runtime rt;
    norn::group g(rt);
    rt.submit([] {}, g);
    rt.submit([] { throw std::range_error("member"); }, g, norn::name("the member"));
    const norn::error e = THROWN(norn::error, g.wait());
    CHECK_EQUAL(e.status(), NORN_E_PROPAGATED);
    CHECK_SAYS(e.what(), "the member");
    CHECK_SAYS(THROWN(std::range_error, std::rethrow_exception(e.cause())).what(), "member");
    CHECK_EQUAL(THROWN(norn::error, g.close()).status(), NORN_E_STATE);
}

TEST(cancelling_a_group_destroys_its_closures) {
    norn::runtime rt;
    const norn::token never = rt.declare();
    norn::group g(rt);
    for (int i = 0; i < 10; ++i) rt.submit([o = only_moved(1)] { check_end(); }, g, never);
    norn::group inner(rt, g, "inner");
    rt.submit([o = only_moved(1)] { check_end(); }, inner, never);
    CHECK(g.cancel());
    CHECK_EQUAL(counted::alive, 0);
    CHECK(rt.cancel(never));
    inner.close();
    g.close();
    CHECK(g.done().wait().value() != NORN_OK);
}

TEST(a_closed_group_takes_nobody) {
    norn::runtime rt;
    norn::group g(rt);
    g.close();
    CHECK_EQUAL(rt.try_submit([o = only_moved(1)] {}, g).status(), NORN_E_CLOSED);
    g.wait();
}

TEST(a_group_that_is_left_open_by_a_detach) {
    norn::runtime rt;
    norn::promise<void> gate(rt);
    norn::future<void> done;
    {
        norn::group g(rt), h(rt);
        rt.submit([] {}, g, gate.token());
        done = g.done();
        g.detach();
        h = std::move(g); // waits for the empty one
    }
    CHECK(!done.ready());
    gate.set_value();
    done.get();
}

TEST(a_group_in_a_closure_only_closes) {
    norn::runtime rt;
    norn::group g(rt);
    norn::future<void> done = g.done();
    const norn::token never = rt.declare();
    const norn::token t = rt.submit([g = std::move(g)] {}, never);
    CHECK(rt.cancel(t));
    done.get();
    CHECK(rt.cancel(never));
}

TEST(all_of_a_tuple) {
    norn::runtime rt;
    auto all = norn::when_all(rt, rt.submit([] { return std::make_unique<int>(1); }), rt.submit([] {}), rt.submit([] { return std::string("x"); }));
    auto values = all.get();
    static_assert(std::is_same_v<decltype(values), std::tuple<std::unique_ptr<int>, norn::nothing, std::string>>);
    CHECK_EQUAL(*std::get<0>(values), 1);
    CHECK(std::get<2>(values) == "x");
    norn::when_all(rt).get();
}

TEST(all_of_a_vector) {
    norn::runtime rt;
    std::vector<norn::future<only_moved>> futures;
    for (int i = 0; i < 100; ++i) futures.push_back(rt.submit([i] { return only_moved(i); }));
    const std::vector<only_moved> values = norn::when_all(rt, std::move(futures)).get();
    for (int i = 0; i < 100; ++i) CHECK_EQUAL(values[static_cast<std::size_t>(i)].value, i);
    CHECK(norn::when_all(rt, std::vector<norn::future<int>>()).get().empty());
    std::atomic<int> ran{0};
    std::vector<norn::future<void>> more;
    for (int i = 0; i < 100; ++i) more.push_back(rt.submit([&] { ++ran; }));
    norn::when_all(rt, more).get();
    CHECK_EQUAL(ran, 100);
    std::vector<norn::token> tokens(more.begin(), more.end());
    norn::when_all(rt, norn::after(tokens)).get();
}

TEST(all_fails_with_the_first_failure) {
    norn::runtime rt;
    std::vector<norn::future<only_moved>> futures;
    for (int i = 0; i < 10; ++i)
        futures.push_back(rt.submit([i] {
            if (i == 5) throw std::range_error("five");
            return only_moved(i);
        }));
    const norn::error e = THROWN(norn::error, norn::when_all(rt, std::move(futures)).get());
    CHECK_SAYS(e.what(), "five");
    rt.drain();
    CHECK_EQUAL(counted::alive, 0);
}

TEST(any_of_several) {
    norn::runtime rt;
    norn::promise<int> a(rt), b(rt), c(rt);
    std::vector<norn::future<int>> futures;
    for (auto *p : {&a, &b, &c}) futures.push_back(p->get_future());
    norn::future<std::size_t> first = norn::when_any(rt, futures);
    CHECK(!first.ready());
    b.set_value(7);
    CHECK(!first.wait());
    a.fail(3, "failed first");
    CHECK_EQUAL(norn::when_any(rt, futures[0], futures[2]).get(), 0);
    c.set_value(1);
    rt.drain();
    const std::size_t index = first.get(); // the first stays the first
    CHECK_EQUAL(index, 1);
    CHECK_EQUAL(futures[index].get(), 7);
    CHECK_EQUAL(THROWN(norn::error, norn::when_any(rt, std::vector<norn::future<int>>())).status(), NORN_E_INVALID);
    CHECK_EQUAL(THROWN(norn::error, futures[0].get()).record()->code, 3);
}

TEST(any_of_many_at_once) {
    norn::runtime rt;
    for (int round = 0; round < 50; ++round) {
        std::vector<norn::future<int>> futures;
        for (int i = 0; i < 20; ++i) futures.push_back(rt.submit([i] { return i; }));
        const std::size_t first = norn::when_any(rt, futures).get();
        CHECK_EQUAL(futures[first].get(), first);
    }
}

TEST(any_that_was_cancelled) {
    norn::runtime rt;
    norn::promise<void> p(rt);
    norn::future<std::size_t> first = norn::when_any(rt, p.get_future());
    CHECK(rt.cancel(first));
    p.set_value();
    CHECK_EQUAL(THROWN(norn::error, first.get()).status(), NORN_E_CANCELLED);
}

TEST(any_at_close) {
    norn::future<std::size_t> first;
    norn::runtime rt;
    const norn::token never = rt.declare("never");
    first = norn::when_any(rt, norn::after(&never, 1));
    (void)first.then([](std::size_t) {});
    norn::runtime(std::move(rt)).cancel_and_close();
}

TEST(when_any_that_throws_leaves_no_promise_behind) {
    norn::runtime rt, other;
    const norn::future<void> f = other.submit([] {});
    CHECK_EQUAL(THROWN(norn::error, norn::when_any(rt, f)).status(), NORN_E_INVALID);
    CHECK_SAYS(rt.dump(), "0 live tokens");
}

TEST(all_and_any_of_futures_that_are_copied) {
    norn::runtime rt;
    const norn::future<void> a = rt.submit([] {});
    norn::future<void> b = rt.submit([] {});
    const norn::shared_future<int> s = rt.submit([] { return 3; }).share();
    norn::when_all(rt, a, b).get();
    CHECK_EQUAL(std::get<1>(norn::when_all(rt, a, s).get()), 3);
    CHECK_EQUAL(s.get(), 3);
    CHECK(norn::when_any(rt, s, s).get() < 2);
    CHECK(norn::when_any(rt, std::vector<norn::shared_future<int>>{s}).get() == 0);
}
