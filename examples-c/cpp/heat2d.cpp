// Heat in a square plate, in blocks of rows: explicit steps on two grids. Each task writes one block of the new grid and
// reads the three blocks of the old one that it touches; steps overlap wherever the accesses allow, and no step waits for
// the whole grid. A reduction measures the change. The same numbers come out of a plain loop, and are compared.
//
//     heat2d [N [STEPS [BLOCKS]]]        N x N points inside; default 512 200 8
#include <norn.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr double diffusion = 0.2; // below 1/4: stable

// One block of rows [first, first + rows) of `to`, from `from`; both with a border of one point.
double step(const double *from, double *to, std::size_t width, std::size_t first, std::size_t rows) {
    double change = 0;
    for (std::size_t i = first; i < first + rows; ++i)
        for (std::size_t j = 1; j + 1 < width; ++j) {
            const double *p = from + i * width + j;
            const double next = p[0] + diffusion * (p[-1] + p[1] + p[-static_cast<std::ptrdiff_t>(width)] + p[width] - 4 * p[0]);
            change = std::max(change, std::fabs(next - p[0]));
            to[i * width + j] = next;
        }
    return change;
}

std::vector<double> initial(std::size_t width) {
    std::vector<double> grid(width * width, 0.0);
    std::fill_n(grid.begin(), width, 1.0); // the upper edge is hot
    return grid;
}

std::size_t argument(int argc, char **argv, int i, std::size_t otherwise) {
    if (i >= argc) return otherwise;
    char *end = nullptr;
    const long value = std::strtol(argv[i], &end, 10);
    if (*end != '\0' || value < 1 || value > 100000) {
        std::fprintf(stderr, "heat2d: argument %d, \"%s\", is no number from 1 to 100000\n", i, argv[i]);
        std::exit(2);
    }
    return static_cast<std::size_t>(value);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

int main(int argc, char **argv) {
    const std::size_t n = argument(argc, argv, 1, 512), steps = argument(argc, argv, 2, 200);
    const std::size_t blocks = std::min(n, argument(argc, argv, 3, 8)), width = n + 2;

    std::vector<double> grid[2] = {initial(width), initial(width)};
    std::vector<double> changes(steps, 0.0);
    const auto largest = norn::reducing(0.0, [](double a, double b) { return std::max(a, b); });

    const auto start = std::chrono::steady_clock::now();
    {
        norn::runtime rt;
        // A block of rows of a grid is a datum, and so is the change of a step. Block 0 and blocks + 1 are the border.
        std::vector<norn::data<double>> rows[2], change;
        const auto first_row = [&](std::size_t b) { return 1 + (b - 1) * n / blocks; };
        for (int g = 0; g < 2; ++g) {
            rows[g].emplace_back(rt, grid[g].data(), width);
            for (std::size_t b = 1; b <= blocks; ++b)
                rows[g].emplace_back(rt, grid[g].data() + first_row(b) * width, (first_row(b + 1) - first_row(b)) * width);
            rows[g].emplace_back(rt, grid[g].data() + (n + 1) * width, width);
        }
        change.reserve(steps);
        for (double &c : changes) change.emplace_back(rt, &c, 1, largest);

        for (std::size_t s = 0; s < steps; ++s) {
            const std::size_t o = s % 2;
            for (std::size_t b = 1; b <= blocks; ++b) {
                const double *from = grid[o].data();
                double *to = grid[1 - o].data();
                const std::size_t first = first_row(b), count = first_row(b + 1) - first;
                rt.submit(
                    [=](norn::view<const double>, norn::view<const double>, norn::view<const double>, norn::view<double>,
                        norn::view<double> c) { c[0] = std::max(c[0], step(from, to, width, first, count)); },
                    norn::read(rows[o][b - 1]), norn::read(rows[o][b]), norn::read(rows[o][b + 1]),
                    norn::write(rows[1 - o][b]), norn::reduce(change[s]), norn::name("step"));
            }
        }
        // The data wait for their last accesses, and the runtime closes.
    }
    const double parallel = seconds_since(start);

    std::vector<double> plain[2] = {initial(width), initial(width)};
    const auto restart = std::chrono::steady_clock::now();
    double last = 0;
    for (std::size_t s = 0; s < steps; ++s) last = step(plain[s % 2].data(), plain[1 - s % 2].data(), width, 1, n);
    const double sequential = seconds_since(restart);

    const bool same = plain[steps % 2] == grid[steps % 2] && last == changes.back();
    std::printf("%zu x %zu points, %zu steps, %zu blocks: last change %.3e, %s as the plain loop\n", n, n, steps, blocks,
                changes.back(), same ? "the same" : "NOT THE SAME");
    std::printf("tasks %.3f s, plain loop %.3f s\n", parallel, sequential);
    return same ? 0 : 1;
}
