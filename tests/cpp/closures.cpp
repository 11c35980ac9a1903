// Where a closure lives, and that it is destroyed exactly once, whatever becomes of its task.
#include "check.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

// Every operator new of this program is counted. norn's own memory is none of it.
static std::atomic<int> allocations{0};
__attribute__((noinline)) void *operator new(std::size_t bytes) {
    ++allocations;
    if (void *memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
    throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void *memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

static int sum;

template <class F>
static int allocations_of(F &&submit) {
    const int before = allocations;
    submit();
    return allocations - before;
}

TEST(small_trivial_closures_need_no_allocation) {
    norn::runtime rt;
    int *const target = &sum;
    const norn::token before = rt.submit([] { sum = 0; });
    CHECK_EQUAL(allocations_of([&] { rt.submit([] { sum += 1; }, before).token(); }), 0);
    rt.drain();
    CHECK_EQUAL(allocations_of([&] { rt.submit([target] { *target += 2; }); }), 0);
    rt.drain();
    const std::array<std::int64_t, 7> numbers{1, 2, 3, 4, 5, 6, 7};
    CHECK_EQUAL(allocations_of([&] { rt.submit([target, numbers] { for (auto n : numbers) *target += static_cast<int>(n); }); }), 0);
    rt.drain();
    CHECK_EQUAL(sum, 31);
}

TEST(a_longer_closure_is_one_allocation) {
    norn::runtime rt;
    sum = 0;
    const std::array<std::int64_t, 9> numbers{1, 2, 3, 4, 5, 6, 7, 8, 9};
    CHECK_EQUAL(allocations_of([&] { rt.submit([numbers] { for (auto n : numbers) sum += static_cast<int>(n); }); }), 1);
    rt.drain();
    CHECK_EQUAL(sum, 45);
}

TEST(an_over_aligned_closure_stays_aligned) {
    struct alignas(64) wide {
        char bytes[64];
    };
    norn::runtime rt;
    wide w{};
    rt.submit([w] { CHECK_EQUAL(reinterpret_cast<std::uintptr_t>(&w) % 64, 0); }).get();
}

TEST(a_closure_that_is_no_plain_memory_is_one_allocation) {
    norn::runtime rt;
    only_moved object(7);
    CHECK_EQUAL(allocations_of([&] { rt.submit([o = std::move(object)] { sum = o.value; }); }), 1);
    rt.drain();
    CHECK_EQUAL(sum, 7);
}

TEST(a_result_shares_the_allocation_of_its_closure) {
    norn::runtime rt;
    norn::future<int> f;
    CHECK_EQUAL(allocations_of([&] { f = rt.submit([] { return 5; }); }), 1);
    CHECK_EQUAL(f.get(), 5);
}

TEST(a_closure_is_moved_and_never_copied) {
    norn::runtime rt;
    counted::copies = 0;
    rt.submit([o = only_moved(3)] { CHECK_EQUAL(o.value, 3); }).get();
    rt.submit([o = counted(4)]() mutable { return o.value; }).get();
    CHECK_EQUAL(counted::copies, 0);
    auto reusable = [o = counted(5)] { return o.value; };
    CHECK_EQUAL(rt.submit(reusable).get() + rt.submit(reusable).get(), 10);
    CHECK_EQUAL(counted::copies, 2);
}

TEST(a_closure_is_destroyed_before_the_token_shows_complete) {
    norn::runtime rt;
    for (int i = 0; i < 200; ++i) {
        rt.submit([o = only_moved(1)] {}).get();
        CHECK_EQUAL(counted::alive, 0);
    }
}

TEST(a_closure_lives_until_the_holds_are_gone) {
    norn::runtime rt;
    norn::hold kept;
    const norn::token t = rt.submit([&kept, o = only_moved(1)](norn::self &self) { kept = self.hold(); });
    while (counted::alive == 1 && !kept) rt.progress();
    CHECK(!rt.ready(t));
    CHECK_EQUAL(counted::alive, 1);
    std::thread([h = std::move(kept)]() mutable { h.release(); }).join();
    rt.await(t);
    CHECK_EQUAL(counted::alive, 0);
}

TEST(destroyed_once_when_cancelled) {
    norn::runtime rt;
    norn::promise<void> gate(rt);
    const norn::token t = rt.submit([o = only_moved(1)] { check_end(); }, gate.token());
    const norn::future<int> f = rt.submit([o = only_moved(1)] { check_end(); return 1; }, gate.token());
    CHECK_EQUAL(counted::alive, 2);
    CHECK(rt.cancel(t));
    CHECK(rt.cancel(f));
    CHECK_EQUAL(counted::alive, 0);
    gate.set_value();
}

TEST(destroyed_once_when_a_predecessor_failed) {
    norn::runtime rt;
    const norn::token bad = rt.submit([] { throw 1; });
    auto f = rt.submit([o = only_moved(1)] { check_end(); return 1; }, bad);
    CHECK(f.wait().value() == NORN_E_PROPAGATED);
    CHECK_EQUAL(counted::alive, 0);
}

TEST(destroyed_once_when_the_body_throws) {
    norn::runtime rt;
    auto f = rt.submit([o = only_moved(1)]() -> only_moved { throw std::runtime_error("x"); });
    CHECK(f.wait().value() == NORN_E_TASK_FAILED);
    CHECK_EQUAL(counted::alive, 0);
}

TEST(destroyed_once_when_refused) {
    norn::runtime rt;
    rt.seal();
    CHECK_EQUAL(THROWN(norn::error, rt.submit([o = only_moved(1)] {})).status(), NORN_E_CLOSED);
    CHECK_EQUAL(THROWN(norn::error, rt.submit([o = only_moved(1)] { return 1; })).status(), NORN_E_CLOSED);
    CHECK_EQUAL(counted::alive, 0);
    CHECK_EQUAL(rt.try_submit([o = only_moved(1)] {}).status(), NORN_E_CLOSED);
    CHECK_EQUAL(rt.try_submit([o = only_moved(1)] { return 1; }).error().value(), NORN_E_CLOSED);
    CHECK_EQUAL(counted::alive, 0);
}

TEST(destroyed_once_when_closed_with_cancel) {
    norn::runtime rt;
    const norn::token never = rt.declare("never");
    for (int i = 0; i < 100; ++i) rt.submit([o = only_moved(1)] { check_end(); }, never);
    CHECK_EQUAL(counted::alive, 100);
    rt.cancel_and_close();
    CHECK_EQUAL(counted::alive, 0);
}

TEST(destroyed_once_when_closed_with_nobody_to_complete_it) {
    norn::runtime rt;
    const norn::token never = rt.declare("never");
    rt.submit([o = only_moved(1)] { check_end(); }, never);
    CHECK_EQUAL(THROWN(norn::error, rt.close()).status(), NORN_E_CLOSED);
    CHECK_EQUAL(counted::alive, 0);
}

TEST(a_constructor_that_throws_submits_nothing) {
    struct refuses {
        refuses() = default;
        refuses(const refuses &) { throw std::length_error("no copy"); }
        void operator()() const { check_end(); }
    };
    norn::runtime rt;
    const refuses f;
    CHECK_SAYS(THROWN(std::length_error, rt.submit(f)).what(), "no copy");
    CHECK_EQUAL(rt.stats().submitted, 0);
}

TEST(destructors_in_closures_may_complete_promises) {
    norn::runtime rt;
    const norn::token never = rt.declare("never");
    norn::promise<int> p(rt);
    norn::future<int> f = p.get_future();
    const norn::token t = rt.submit([q = std::move(p)]() mutable { q.set_value(1); }, never);
    CHECK(rt.cancel(t)); // the promise goes with the closure that was to keep it
    const norn::error e = THROWN(norn::error, f.get());
    CHECK_EQUAL(e.status(), NORN_E_TASK_FAILED);
    CHECK_EQUAL(e.record()->code, norn::broken_promise_code);
    CHECK(rt.cancel(never));
}

TEST(every_kind_of_callable) {
    struct functor {
        int operator()() && { return 1; }
    };
    norn::runtime rt;
    int (*function)() = [] { return 2; };
    std::function<int()> wrapped = [] { return 3; };
    CHECK_EQUAL(rt.submit(functor()).get() + rt.submit(function).get() + rt.submit(wrapped).get(), 6);
    CHECK_EQUAL(rt.submit(*function).get(), 2);
}

TEST(many_from_many_threads) {
    norn::runtime rt;
    std::atomic<int> ran{0};
    std::thread threads[4];
    for (std::thread &t : threads)
        t = std::thread([&rt, &ran] {
            for (int i = 0; i < 500; ++i) rt.submit([&ran, o = only_moved(1)] { ran += o.value; });
        });
    for (std::thread &t : threads) t.join();
    rt.drain();
    CHECK_EQUAL(ran, 2000);
    CHECK_EQUAL(counted::alive, 0);
}
