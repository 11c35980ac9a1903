// Fill a, then b = 2 a: the accesses are the edge.
#include <norn.hpp>
#include <cstdio>
#include <vector>

int main() {
    std::vector<double> va(1000), vb(1000);
    norn::runtime rt;
    norn::data a(rt, va), b(rt, vb);
    rt.submit([](norn::view<double> x) { for (int i = 0; i < 1000; ++i) x[i] = i; }, norn::write(a));
    auto doubled = rt.submit([](norn::view<const double> x, norn::view<double> y) {
        for (int i = 0; i < 1000; ++i) y[i] = 2 * x[i];
    }, norn::read(a), norn::write(b));
    doubled.get();
    double sum = 0;
    for (double y : vb) sum += y;
    std::printf("sum %.0f\n", sum);
}
