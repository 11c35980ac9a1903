// What every test here needs: named tests chosen by argument, checks that print where they failed, and objects and
// allocations that are counted.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#ifndef NORN_TESTS_CHECK_HPP
#define NORN_TESTS_CHECK_HPP

#include <norn.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>

#include <unistd.h>

struct test_case {
    const char *name;
    void (*run)();
    test_case *next;
    static test_case *&first() {
        static test_case *all = nullptr;
        return all;
    }
    test_case(const char *n, void (*r)()) : name(n), run(r), next(first()) { first() = this; }
};
#define TEST(name)                                      \
    static void name();                                 \
    static test_case registered_##name(#name, name);    \
    static void name()

[[noreturn]] inline void check_end() {
    std::fflush(nullptr);
    _exit(1); // not exit: the check may have failed inside a task
}
#define CHECK(condition)                                                                        \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            std::fprintf(stderr, "%s:%d: not true: %s (norn's last text here: \"%s\")\n", __FILE__, __LINE__, #condition, norn_last_error()); \
            check_end();                                                                        \
        }                                                                                       \
    } while (0)
#define CHECK_EQUAL(value, expected)                                                                                    \
    do {                                                                                                                \
        const long long got_ = static_cast<long long>(value), expected_ = static_cast<long long>(expected);             \
        if (got_ != expected_) {                                                                                        \
            std::fprintf(stderr, "%s:%d: %s is %lld, expected %lld\n", __FILE__, __LINE__, #value, got_, expected_);     \
            check_end();                                                                                                \
        }                                                                                                               \
    } while (0)
#define CHECK_SAYS(text, part)                                                                              \
    do {                                                                                                    \
        const std::string text_ = (text);                                                                   \
        if (text_.find(part) == std::string::npos) {                                                        \
            std::fprintf(stderr, "%s:%d: \"%s\" does not say \"%s\"\n", __FILE__, __LINE__, text_.c_str(), part); \
            check_end();                                                                                    \
        }                                                                                                   \
    } while (0)

// Evaluates to the exception of that type which the call throws; ends the test if it throws none.
#define THROWN(type, ...)                                                                                 \
    [&]() -> type {                                                                                       \
        try {                                                                                             \
            (void)(__VA_ARGS__);                                                                          \
        } catch (const type &caught_) {                                                                   \
            return caught_;                                                                               \
        }                                                                                                 \
        std::fprintf(stderr, "%s:%d: %s does not throw %s\n", __FILE__, __LINE__, #__VA_ARGS__, #type);   \
        check_end();                                                                                      \
    }()

// An object that is counted: how many live, and how often one was copied.
struct counted {
    static inline std::atomic<int> alive{0}, copies{0}, made{0};
    int value;
    explicit counted(int v = 0) : value(v) { born(); }
    counted(const counted &other) : value(other.value) {
        ++copies;
        born();
    }
    counted(counted &&other) noexcept : value(std::exchange(other.value, -1)) { born(); }
    counted &operator=(const counted &) = default;
    ~counted() {
        const int left = --alive;
        CHECK(left >= 0);
    }

private:
    static void born() {
        ++alive;
        ++made;
    }
};
// The same, move-only.
struct only_moved : counted {
    using counted::counted;
    only_moved(only_moved &&) = default;
    only_moved &operator=(only_moved &&) = default;
};

// Whether bodies run only inside the calls of the program's own threads (NORN_MODE and NORN_WORKERS decide).
inline bool runs_inside_calls_only(norn::runtime_ref rt) {
    const norn_runtime_stats s = rt.stats();
    return s.workers == 0 || s.mode == NORN_MODE_SYNC || s.mode == NORN_MODE_SHUFFLE;
}

int main(int argc, char **argv) {
    for (const test_case *t = test_case::first(); t != nullptr; t = t->next) {
        if (argc > 1 && std::strcmp(argv[1], t->name) != 0) continue;
        if (argc <= 1) { std::printf("%s\n", t->name); std::fflush(stdout); }
        t->run();
        if (counted::alive.load() != 0) {
            std::fprintf(stderr, "%s: %d objects were never destroyed\n", t->name, counted::alive.load());
            return 1;
        }
        if (argc > 1) return 0;
    }
    if (argc > 1) {
        std::fprintf(stderr, "no such test: %s\n", argv[1]);
        return 2;
    }
    return 0;
}

#endif
