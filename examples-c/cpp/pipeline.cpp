// A pipeline of coroutines (C++20): frames are read, filtered and measured, several in flight, each a coroutine that
// holds no thread while it waits. A window keeps the number in flight, and so the memory, bounded.
//
//     pipeline [FRAMES [WINDOW]]         default 64 4
#include <norn.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace {

using frame = std::vector<double>;

frame acquire(int number) {
    if (number == 13) throw std::runtime_error("frame 13 is damaged");
    frame f(4096);
    for (std::size_t i = 0; i < f.size(); ++i) f[i] = std::sin(0.001 * static_cast<double>(i) * number);
    return f;
}

double energy(const frame &f, std::size_t first, std::size_t last) {
    double e = 0;
    for (std::size_t i = first; i < last; ++i) e += f[i] * f[i];
    return e;
}

// One frame. The two halves are tasks of their own, and run at the same time.
norn::task<double> measure(frame f) {
    const norn::runtime_ref rt = co_await norn::this_runtime;
    auto left = rt.submit([&f] { return energy(f, 0, f.size() / 2); });
    auto right = rt.submit([&f] { return energy(f, f.size() / 2, f.size()); });
    // Both are awaited before anything may throw: they refer to this frame.
    const auto [a, b] = co_await norn::when_all(rt, std::move(left), std::move(right));
    co_return a + b;
}

norn::task<double> process(int number) {
    const norn::runtime_ref rt = co_await norn::this_runtime;
    co_return co_await measure(co_await rt.submit([number] { return acquire(number); }, norn::name("acquire")));
}

struct summary {
    int measured = 0, damaged = 0;
    double energy = 0;
};

norn::task<summary> all_frames(int count, std::size_t window) {
    const norn::runtime_ref rt = co_await norn::this_runtime;
    summary s;
    std::deque<norn::future<double>> in_flight;
    for (int next = 0; next < count || !in_flight.empty();) {
        if (next < count && in_flight.size() < window) {
            in_flight.push_back(norn::spawn(rt, process(next++)));
            continue;
        }
        try {
            s.energy += co_await in_flight.front();
            ++s.measured;
        } catch (const std::runtime_error &) {
            ++s.damaged;
        }
        in_flight.pop_front();
    }
    co_return s;
}

} // namespace

int main(int argc, char **argv) {
    const int frames = argc > 1 ? std::atoi(argv[1]) : 64, window = argc > 2 ? std::atoi(argv[2]) : 4;
    if (frames < 0 || window < 1) {
        std::fprintf(stderr, "usage: pipeline [FRAMES [WINDOW]]\n");
        return 2;
    }
    norn::runtime rt;
    const summary s = norn::spawn(rt, all_frames(frames, static_cast<std::size_t>(window))).get();
    double expected = 0;
    for (int i = 0; i < frames; ++i)
        if (i != 13) {
            const frame f = acquire(i);
            expected += energy(f, 0, f.size() / 2) + energy(f, f.size() / 2, f.size());
        }
    std::printf("%d frames measured, %d damaged, energy %.6f\n", s.measured, s.damaged, s.energy);
    return std::fabs(s.energy - expected) <= 1e-9 * (1 + expected) && s.measured + s.damaged == frames ? 0 : 1;
}
