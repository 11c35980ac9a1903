// Exceptions that leave bodies, and what they are to those who ask.
#include "check.hpp"

#include <future>
#include <vector>

struct singular : std::domain_error {
    int pivot;
    explicit singular(int p) : std::domain_error("pivot " + std::to_string(p) + " is zero"), pivot(p) {}
};

TEST(an_exception_is_rethrown_with_its_type) {
    norn::runtime rt;
    auto f = rt.submit([]() -> int { throw singular(3); });
    const singular e = THROWN(singular, f.get());
    CHECK_EQUAL(e.pivot, 3);
    CHECK(!f.valid());
    auto g = rt.submit([]() { throw singular(4); }); // a closure that norn copies
    CHECK_EQUAL(THROWN(singular, g.get()).pivot, 4);
    CHECK_EQUAL(THROWN(singular, g.get()).pivot, 4);
    CHECK_EQUAL(THROWN(singular, rt.await(g)).pivot, 4);
}

TEST(what_c_sees_is_a_record) {
    norn::runtime rt;
    const norn::token t = rt.submit([] { throw singular(5); }, norn::name("factorise"));
    CHECK(rt.try_await(t).value() == NORN_E_TASK_FAILED);
    const norn_error_info record = rt.record(t);
    CHECK_EQUAL(record.code, norn::exception_code);
    CHECK_SAYS(record.text, "pivot 5 is zero");
    CHECK_SAYS(record.task, "factorise");
}

TEST(a_failure_chooses_its_code) {
    norn::runtime rt;
    auto f = rt.submit([]() -> double { throw norn::failure(7, "disk full"); });
    CHECK_EQUAL(rt.try_await(f).value(), NORN_E_TASK_FAILED);
    CHECK_EQUAL(rt.record(f).code, 7);
    CHECK_EQUAL(THROWN(norn::failure, f.get()).code(), 7);
}

TEST(what_is_thrown_need_not_be_an_exception) {
    norn::runtime rt;
    auto f = rt.submit([] { throw 42; });
    CHECK_EQUAL(THROWN(int, f.get()), 42);
    CHECK_SAYS(rt.record(f).text, "int");
    CHECK(rt.record(f).code == norn::exception_code);
}

TEST(a_dependant_names_the_first_cause) {
    norn::runtime rt;
    auto first = rt.submit([]() -> int { throw singular(1); }, norn::name("factorise"));
    auto second = first.then([](int n) { return n; }, norn::name("solve"));
    auto third = second.then([](int n) { return n; }, norn::name("print"));
    const norn::error e = THROWN(norn::error, third.get());
    CHECK_EQUAL(e.status(), NORN_E_PROPAGATED);
    CHECK(e.code() == norn::make_error_code(NORN_E_PROPAGATED));
    CHECK(&e.code().category() == &norn::category());
    CHECK_SAYS(e.what(), "\"factorise\" failed with code 1: pivot 1 is zero");
    CHECK_SAYS(e.what(), "NORN_E_PROPAGATED");
    CHECK(e.record() != nullptr);
    CHECK_SAYS(e.record()->task, "factorise");
    CHECK_EQUAL(THROWN(singular, std::rethrow_exception(e.cause())).pivot, 1);
}

TEST(a_failed_datum_names_the_first_cause) {
    norn::runtime rt;
    norn::data<void> datum(rt);
    rt.submit([] { throw singular(2); }, norn::write(datum));
    const norn::error e = THROWN(norn::error, rt.submit([] {}, norn::read(datum)).get());
    CHECK_EQUAL(e.status(), NORN_E_PROPAGATED);
    CHECK_EQUAL(THROWN(singular, std::rethrow_exception(e.cause())).pivot, 2);
}

TEST(failures_of_c_tasks_are_errors) {
    norn::runtime rt;
    norn_task task = NORN_TASK_INIT;
    task.run = [](norn_self *self, void *) { return norn_self_fail(self, 9, "from C"); };
    norn_token t{0};
    CHECK(norn_submit(rt.handle(), &task, &t) == NORN_OK);
    const norn::error e = THROWN(norn::error, rt.await(t));
    CHECK_EQUAL(e.status(), NORN_E_TASK_FAILED);
    CHECK_EQUAL(e.record()->code, 9);
    CHECK(!e.cause());
}

TEST(a_body_may_fail_without_an_exception) {
    norn::runtime rt;
    auto f = rt.submit([o = only_moved(1)](norn::self &self) {
        self.fail(11, "out of memory on the device");
        return only_moved(2); // destroyed: nobody can take it
    });
    const norn::error e = THROWN(norn::error, f.get());
    CHECK_EQUAL(e.record()->code, 11);
    CHECK_SAYS(e.what(), "out of memory on the device");
    rt.drain();
    CHECK_EQUAL(counted::alive, 0);
}

TEST(cancelled) {
    norn::runtime rt;
    const norn::token never = rt.declare();
    auto f = rt.submit([] { return 1; }, never);
    auto g = f.then([](int n) { return n; });
    CHECK(rt.cancel(never));
    CHECK(!rt.cancel(never));
    CHECK_EQUAL(THROWN(norn::error, g.get()).status(), NORN_E_PROPAGATED);
}

TEST(a_refused_call_has_no_record) {
    norn::runtime rt;
    const norn::error e = THROWN(norn::error, rt.edge(norn::token(), norn::token()));
    CHECK(e.record() == nullptr && !e.cause());
    CHECK_EQUAL(e.status(), NORN_E_INVALID);
    CHECK(e.code().message() == std::string("NORN_E_INVALID"));
}

TEST(errors_are_copied_without_throwing) {
    static_assert(std::is_nothrow_copy_constructible_v<norn::error>);
    static_assert(std::is_nothrow_copy_constructible_v<norn::failure>);
    static_assert(std::is_base_of_v<std::system_error, norn::error>);
}

TEST(exceptions_of_promises) {
    norn::runtime rt;
    norn::promise<int> p(rt);
    norn::future<int> f = p.get_future();
    auto dependant = rt.submit([] {}, f.token());
    std::thread([&p] { p.set_exception(std::make_exception_ptr(singular(6))); }).join();
    CHECK_EQUAL(THROWN(singular, f.get()).pivot, 6);
    CHECK_EQUAL(THROWN(singular, std::rethrow_exception(THROWN(norn::error, dependant.get()).cause())).pivot, 6);
    CHECK_EQUAL(THROWN(norn::error, p.set_exception(std::make_exception_ptr(1))).status(), NORN_E_STATE);
    norn::promise<void> q(rt);
    q.fail(13, "by hand");
    CHECK_EQUAL(THROWN(norn::error, q.get_future().get()).record()->code, 13);
}

TEST(a_body_that_awaits_a_failure_passes_it_on) {
    norn::runtime rt;
    auto outer = rt.submit([](norn::self &self) { self.runtime().submit([] { throw singular(8); }).get(); });
    CHECK_EQUAL(THROWN(singular, outer.get()).pivot, 8);
    auto refused = rt.submit([](norn::self &self) { self.runtime().await(self.token()); });
    CHECK_EQUAL(THROWN(norn::error, refused.get()).status(), NORN_E_WOULD_DEADLOCK);
}

TEST(run_always_sees_the_failure_of_a_value) {
    norn::runtime rt;
    const norn::token bad = rt.submit([] { throw singular(1); });
    bool cleaned = false;
    rt.submit([&] { cleaned = true; }, bad, norn::run_always).get();
    CHECK(cleaned);
    auto f = rt.submit([]() -> int { throw singular(1); });
    auto g = rt.submit([](int) { check_end(); }, std::move(f), norn::run_always);
    CHECK_EQUAL(THROWN(norn::error, g.get()).status(), NORN_E_PROPAGATED);
}

TEST(a_close_tells_what_nobody_looked_at) {
    norn::runtime rt;
    rt.submit([] { throw singular(1); });
    const norn::error e = THROWN(norn::error, rt.close());
    CHECK_EQUAL(e.status(), NORN_E_TASK_FAILED);
    CHECK_SAYS(e.what(), "pivot 1 is zero");
    CHECK(!rt);
}

TEST(exceptions_do_not_outlive_the_runtime) {
    static std::weak_ptr<int> watched;
    struct carrier {
        std::shared_ptr<int> cargo = std::make_shared<int>(1);
        carrier() { watched = cargo; }
    };
    {
        norn::runtime rt;
        auto f = rt.submit([] { throw carrier(); });
        CHECK(f.wait().value() == NORN_E_TASK_FAILED);
        CHECK(!watched.expired());
    }
    CHECK(watched.expired());
}

TEST(a_long_text_is_cut) {
    norn::runtime rt;
    auto f = rt.submit([] { throw std::runtime_error(std::string(100000, 'x')); });
    CHECK(f.wait().value() == NORN_E_TASK_FAILED);
    CHECK(std::strlen(rt.record(f).text) < 256);
    CHECK_EQUAL(std::strlen(THROWN(std::runtime_error, f.get()).what()), 100000);
}

TEST(many_failures_from_many_threads) {
    norn::runtime rt;
    std::vector<norn::future<int>> all;
    for (int i = 0; i < 1000; ++i) all.push_back(rt.submit([i]() -> int { throw singular(i); }));
    for (int i = 0; i < 1000; ++i) CHECK_EQUAL(THROWN(singular, all[static_cast<std::size_t>(i)].get()).pivot, i);
}

TEST(a_value_returned_after_self_fail_is_not_seen) {
    norn::runtime rt;
    auto s = rt.submit([](norn::self &self) {
                   self.fail(9, "nine");
                   return only_moved(4);
               }).share();
    auto reader = rt.submit([](const only_moved &) { check_end(); }, s, norn::run_always);
    CHECK_EQUAL(THROWN(norn::error, s.get()).record()->code, 9);
    CHECK(reader.wait().value() == NORN_E_TASK_FAILED);
    CHECK_EQUAL(counted::alive, 0);
}
