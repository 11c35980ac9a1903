// Data, accesses, and the views that bodies get.
#include "check.hpp"

#include <array>
#include <functional>
#include <numeric>
#include <vector>

TEST(writer_then_reader) {
    norn::runtime rt;
    std::vector<double> v(1000);
    norn::data a(rt, v, norn::name("a"));
    rt.submit([](norn::view<double> x) { std::iota(x.begin(), x.end(), 0.0); }, norn::write(a));
    auto sum = rt.submit([](norn::view<const double> x) { return std::accumulate(x.begin(), x.end(), 0.0); }, norn::read(a));
    CHECK_EQUAL(sum.get(), 499500);
}

TEST(views_in_the_order_of_the_clauses) {
    norn::runtime rt;
    std::array<int, 3> x{1, 2, 3};
    std::vector<int> y(2);
    int z = 0;
    norn::data a(rt, x), b(rt, y), c(rt, &z, 1);
    auto value = rt.submit([] { return 10; });
    rt.submit(
          [](norn::self &self, norn::view<const int> p, int n, norn::view<int> q, norn::view<int> r) {
              CHECK(!self.cancelled());
              q[0] = p[0] + n;
              q[1] = p.back();
              r.front() = static_cast<int>(p.size() + q.size());
          },
          norn::read(a), norn::name("all"), std::move(value), norn::write(b), norn::update(c))
        .get();
    CHECK_EQUAL(y[0], 11);
    CHECK_EQUAL(y[1], 3);
    CHECK_EQUAL(z, 5);
    // Or none of them, but still the value.
    CHECK_EQUAL(rt.submit([](int n) { return n; }, rt.submit([] { return 4; }), norn::read(a)).get(), 4);
    CHECK_EQUAL(rt.submit([](norn::self &, int n) { return n; }, norn::read(a), rt.submit([] { return 5; })).get(), 5);
}

TEST(chains_through_one_datum_keep_their_order) {
    norn::runtime rt;
    std::vector<int> seen;
    norn::data<void> order(rt, norn::name("order"));
    for (int i = 0; i < 1000; ++i) rt.submit([&seen, i] { seen.push_back(i); }, norn::update(order));
    order.unregister();
    for (int i = 0; i < 1000; ++i) CHECK_EQUAL(seen[static_cast<std::size_t>(i)], i);
}

TEST(commute_excludes) {
    norn::runtime rt;
    long n = 0;
    norn::data d(rt, &n, 1);
    for (int i = 1; i <= 100; ++i) rt.submit([i](norn::view<long> x) { x[0] += i; }, norn::commute(d));
    d.unregister();
    CHECK_EQUAL(n, 5050);
}

TEST(reductions) {
    norn::runtime rt;
    std::array<double, 4> sums{100, 0, 0, 0};
    double largest = -1;
    {
        norn::data s(rt, sums, norn::reducing(0.0, std::plus<>()));
        norn::data m(rt, &largest, 1, norn::reducing(-1e300, [](double a, double b) { return a < b ? b : a; }));
        for (int i = 0; i < 100; ++i)
            rt.submit(
                [i](norn::view<double> x, norn::view<double> y) {
                    CHECK(x.size() == 4 && y.size() == 1);
                    for (double &e : x) e += i;
                    y[0] = i;
                },
                norn::reduce(s), norn::reduce(m));
        CHECK_EQUAL(rt.submit([](norn::view<const double> x) { return x[0]; }, norn::read(s)).get(), 5050);
    }
    CHECK_EQUAL(sums[3], 4950);
    CHECK_EQUAL(largest, 99);
}

TEST(operands_of_a_reduction_keep_their_order) {
    struct text {
        char characters[64];
    };
    norn::runtime rt;
    text whole{};
    {
        norn::data d(rt, &whole, 1, norn::reducing(text{}, [](const text &a, const text &b) {
                         text c = a;
                         std::strcat(c.characters, b.characters);
                         return c;
                     }));
        for (int i = 0; i < 26; ++i) rt.submit([i](norn::view<text> x) { x[0].characters[0] = static_cast<char>('a' + i); }, norn::reduce(d));
    }
    CHECK(std::string(whole.characters) == "abcdefghijklmnopqrstuvwxyz");
}

TEST(const_data_can_be_read) {
    norn::runtime rt;
    const std::vector<int> v{1, 2, 3};
    norn::data d(rt, v);
    static_assert(std::is_same_v<decltype(d), norn::data<const int>>);
    CHECK_EQUAL(rt.submit([](norn::view<const int> x) { return x[2]; }, norn::read(d)).get(), 3);
}

TEST(memory_of_norn) {
    norn::runtime rt;
    norn::data<double> d(rt, norn::allocate(1000), norn::name("temporary"));
    CHECK_EQUAL(d.size(), 1000);
    CHECK_EQUAL(reinterpret_cast<std::uintptr_t>(d.elements().data()) % 64, 0);
    CHECK_EQUAL(rt.submit([](norn::view<double> x) { return std::accumulate(x.begin(), x.end(), 1.0); }, norn::update(d)).get(), 1);
}

TEST(empty_data) {
    norn::runtime rt;
    std::vector<int> none;
    norn::data a(rt, none), b(rt, none);
    CHECK(rt.submit([](norn::view<const int> x, norn::view<int> y) { return x.empty() && y.begin() == y.end(); }, norn::read(a), norn::write(b)).get());
}

TEST(the_destructor_waits_for_the_last_access) {
    norn::runtime rt;
    for (int i = 0; i < 100; ++i) {
        std::vector<int> v(10);
        norn::data d(rt, v);
        rt.submit([](norn::view<int> x) { x[9] = 1; }, norn::write(d));
    } // v ends after d
    CHECK_EQUAL(rt.stats().data, 0);
}

TEST(data_move) {
    norn::runtime rt;
    static_assert(!std::is_copy_constructible_v<norn::data<int>>);
    int x = 1, y = 2;
    norn::data a(rt, &x, 1);
    norn::data b = std::move(a);
    CHECK_EQUAL(a.handle().id, 0);
    a = norn::data(rt, &y, 1);
    CHECK_EQUAL(rt.stats().data, 2);
    CHECK_EQUAL(rt.submit([](norn::view<const int> p, norn::view<const int> q) { return p[0] * 10 + q[0]; }, norn::read(a), norn::read(b)).get(), 21);
    b = std::move(a);
    CHECK_EQUAL(rt.stats().data, 1);
    norn::data<void> n(rt), m = std::move(n);
    n = std::move(m);
    CHECK_EQUAL(rt.stats().data, 2);
}

TEST(overlap_is_refused) {
    norn::runtime rt;
    int x[4] = {};
    norn::data a(rt, x, norn::name("whole"));
    const norn::error e = THROWN(norn::error, norn::data(rt, x + 1, 2));
    CHECK_EQUAL(e.status(), NORN_E_OVERLAP);
    CHECK_SAYS(e.what(), "whole");
    norn::data b(rt, x + 1, 2, norn::alias);
}

TEST(split_and_join) {
    norn::runtime rt;
    std::vector<int> v(103);
    norn::data d(rt, v);
    const std::vector<norn::part<int>> pieces = d.split(10);
    std::size_t total = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        total += pieces[i].size();
        rt.submit([i](norn::view<int> x) { for (int &e : x) e = static_cast<int>(i); }, norn::write(pieces[i]));
    }
    CHECK_EQUAL(total, 103);
    CHECK_EQUAL(rt.submit([](norn::view<const int> x) { return std::accumulate(x.begin(), x.end(), 0); }, norn::read(d)).get(), 11 * (0 + 1 + 2) + 10 * (3 + 4 + 5 + 6 + 7 + 8 + 9));
    d.join();
    CHECK_EQUAL(THROWN(norn::error, d.split(0)).status(), NORN_E_INVALID);
}

TEST(a_list_of_accesses) {
    norn::runtime rt;
    std::vector<int> numbers(50);
    std::vector<norn::data<int>> data;
    std::vector<norn_access> all;
    for (int &n : numbers) {
        data.emplace_back(rt, &n, 1);
        all.push_back(norn::read(data.back()));
        rt.submit([](norn::view<int> x) { x[0] = 2; }, norn::write(data.back()));
    }
    CHECK_EQUAL(rt.submit([&] { return std::accumulate(numbers.begin(), numbers.end(), 0); }, norn::accesses(all)).get(), 100);
}

TEST(acquired_by_the_caller) {
    norn::runtime rt;
    int x = 0;
    norn::data d(rt, &x, 1);
    rt.submit([](norn::view<int> v) { v[0] = 1; }, norn::write(d));
    norn::acquired held = rt.acquire(norn::update(d));
    CHECK_EQUAL(x, 1);
    const norn::token later = rt.submit([](norn::view<int> v) { v[0] *= 10; }, norn::update(d));
    x = 7;
    CHECK(!rt.ready(later));
    norn::acquired moved = std::move(held);
    CHECK(!held && moved);
    moved.release();
    rt.await(later);
    CHECK_EQUAL(x, 70);
}

TEST(places_taken_ahead) {
    norn::runtime rt;
    int x = 0;
    norn::data d(rt, &x, 1);
    auto [place] = rt.reserve(norn::write(d));
    auto [other] = rt.reserve(norn::write(d));
    const norn::token reader = rt.submit([](norn::view<const int> v) { CHECK_EQUAL(v[0], 5); }, norn::read(d));
    rt.abandon(other);
    rt.submit([](norn::view<int> v) { v[0] = 5; }, place);
    rt.await(reader);
}

TEST(released_early) {
    norn::runtime rt;
    if (runs_inside_calls_only(rt) || rt.stats().workers < 2) return;
    int x = 0;
    norn::data d(rt, &x, 1);
    std::atomic<bool> seen{false};
    rt.submit(
        [&](norn::self &self, norn::view<int> v) {
            v[0] = 3;
            self.release(d);
            while (!seen) std::this_thread::yield();
        },
        norn::write(d));
    rt.submit([&](norn::view<const int> v) { seen = v[0] == 3; }, norn::read(d)).get();
}

TEST(moved_into_the_task_that_uses_it) {
    norn::runtime rt;
    auto memory = std::make_unique<int[]>(100);
    norn::data d(rt, memory.get(), 100);
    auto access = norn::write(d);
    rt.submit([d = std::move(d)](norn::view<int> v) { v[99] = 1; }, access).get();
    rt.drain();
    CHECK_EQUAL(memory[99], 1);
    CHECK_EQUAL(rt.stats().data, 0);
}

TEST(destroyed_in_a_body_that_holds_it) {
    norn::runtime rt;
    int x = 0;
    auto d = std::make_unique<norn::data<int>>(rt, &x, 1, norn::reducing(0, std::plus<>()));
    auto access = norn::update(*d);
    rt.submit([&d](norn::view<int> v) {
        v[0] = 1;
        d.reset();
    }, access).get();
    rt.drain();
    CHECK_EQUAL(rt.stats().data, 0);
}

TEST(rebound) {
    norn::runtime rt;
    std::vector<int> v(4, 1);
    norn::data d(rt, v);
    rt.submit([](norn::view<int> x) { x[3] = 2; }, norn::write(d));
    auto held = rt.acquire(norn::read(d));
    held.release();
    std::vector<int> longer(v);
    longer.resize(8);
    d.rebind(longer.data(), longer.size());
    CHECK_EQUAL(rt.submit([](norn::view<const int> x) { return static_cast<int>(x.size()) * 10 + x[3]; }, norn::read(d)).get(), 82);
}

TEST(unregistering_inside_a_task_that_holds_it_is_refused) {
    norn::runtime rt;
    int x = 0;
    norn::data d(rt, &x, 1);
    rt.submit([&d] { CHECK_EQUAL(THROWN(norn::error, d.unregister()).status(), NORN_E_WOULD_DEADLOCK); }, norn::read(d)).get();
    d.unregister();
}
