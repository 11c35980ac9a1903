// The tiled Cholesky factorisation, right-looking, lower triangle: what the programs
// cholesky_*.cpp share. All call the same OpenBLAS tile kernels, one thread each.
//
//   PROGRAM [n=4096] [tile=128] workers=N [repeats=N]
//
// In turn, in one process: the kernels in a plain loop, then as tasks. share is the rate as
// tasks over `workers` times the rate of the loop. ceiling is the same with as many plain
// threads, each with a loop and a matrix of its own: what the machine itself allows when
// caches, memory and clock are shared. Both are timed from the first submission on; data are
// registered before. The factor must be the loop's, bit for bit (each tile is updated in the same
// order, whatever the schedule), and the loop's must give back the matrix.
#pragma once
#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "other_load.h"

extern "C" void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);

static inline double now_s() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct Tiles {
  int n, b, count;
  std::vector<double> values;
  Tiles(int n_, int b_) : n(n_), b(b_), count(n_ / b_), values((size_t)n_ * (size_t)n_) {}
  double *at(int i, int j) { return values.data() + ((size_t)j * count + i) * (size_t)b * b; }
  static double element(int i, int j, int n) { return i == j ? 2.0 * n : 1.0 / (1.0 + std::abs(i - j)) + (i + j) % 7; }
  void load() {
    for (int j = 0; j < count; j++)
      for (int i = j; i < count; i++)
        for (int q = 0; q < b; q++)
          for (int p = 0; p < b; p++) at(i, j)[(size_t)q * b + p] = element(i * b + p, j * b + q, n * 8);
  }
};

static void potrf(double *c, int b) {
  int info;
  dpotrf_("L", &b, c, &b, &info);
  if (info) {
    std::fprintf(stderr, "dpotrf: %d\n", info);
    std::exit(1);
  }
}
static void trsm(const double *a, double *c, int b) {
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, b, b, 1.0, a, b, c, b);
}
static void syrk(const double *a, double *c, int b) {
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, b, b, -1.0, a, b, 1.0, c, b);
}
static void gemm(const double *x, const double *y, double *c, int b) {
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, b, b, b, -1.0, x, b, y, b, 1.0, c, b);
}

// The loop nest, once for all: f gets each kernel with the tiles it reads and the one it updates.
template <class F>
static void for_each_kernel(Tiles &t, F &&f) {
  for (int k = 0; k < t.count; k++) {
    f.potrf(k);
    for (int i = k + 1; i < t.count; i++) f.trsm(k, i);
    for (int i = k + 1; i < t.count; i++) {
      f.syrk(i, k);
      for (int j = k + 1; j < i; j++) f.gemm(i, j, k);
    }
  }
}

struct Loop {
  Tiles &t;
  void potrf(int k) { ::potrf(t.at(k, k), t.b); }
  void trsm(int k, int i) { ::trsm(t.at(k, k), t.at(i, k), t.b); }
  void syrk(int i, int k) { ::syrk(t.at(i, k), t.at(i, i), t.b); }
  void gemm(int i, int j, int k) { ::gemm(t.at(i, k), t.at(j, k), t.at(i, j), t.b); }
};

struct CholeskyArgs {
  const char *program = "";
  int n = 4096, tile = 128, workers = 0, repeats = 3;
};

static CholeskyArgs parse_cholesky(int argc, char **argv) {
  CholeskyArgs a;
  const char *name_of = std::strstr(argv[0], "cholesky_");  // the file is named cholesky_PROGRAM
  a.program = name_of ? name_of + std::strlen("cholesky_") : argv[0];
  for (int i = 1; i < argc; i++) {
    char name[16];
    int value;
    if (std::sscanf(argv[i], "%15[a-z]=%d", name, &value) != 2 || value < 1) name[0] = 0;
    if (!std::strcmp(name, "n")) a.n = value;
    else if (!std::strcmp(name, "tile")) a.tile = value;
    else if (!std::strcmp(name, "workers")) a.workers = value;
    else if (!std::strcmp(name, "repeats")) a.repeats = value;
    else {
      std::fprintf(stderr, "%s: not understood; see cholesky.h\n", argv[i]);
      std::exit(2);
    }
  }
  if (!a.workers || a.n % a.tile) {
    std::fprintf(stderr, "workers=N is needed, and n must be a multiple of tile\n");
    std::exit(2);
  }
  openblas_set_num_threads(1);
  return a;
}

// |A x - L L^T x| for one x, relative.
static double residual(Tiles &l) {
  const int n = l.n, b = l.b;
  std::vector<double> x(n), y(n, 0.0), z(n, 0.0), ax(n, 0.0);
  for (int i = 0; i < n; i++) x[i] = 1.0 + i % 3;
  auto value = [&](int i, int j) { return l.at(i / b, j / b)[(size_t)(j % b) * b + i % b]; };
  for (int j = 0; j < n; j++)
    for (int i = j; i < n; i++) y[j] += value(i, j) * x[i];
  for (int j = 0; j < n; j++)
    for (int i = j; i < n; i++) z[i] += value(i, j) * y[j];
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) ax[i] += Tiles::element(std::max(i, j), std::min(i, j), n * 8) * x[j];
  double top = 0, scale = 0;
  for (int i = 0; i < n; i++) top = std::max(top, std::abs(z[i] - ax[i])), scale = std::max(scale, std::abs(ax[i]));
  return top / scale;
}

static double median_of(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// Runtime: factor() submits all and waits; pause() and resume() keep its threads from taking
// processor time from the loop.
template <class Runtime>
static int cholesky_main(Runtime &rt, const CholeskyArgs &a, Tiles &t) {
  const OtherLoad load;
  const char *program = a.program;
  Tiles plain(a.n, a.tile);
  std::vector<double> loop, tasks;
  auto timed = [](auto &&f) {
    double t0 = now_s();
    f();
    return now_s() - t0;
  };
  for (int r = 0; r <= a.repeats; r++) {  // the first is not counted
    rt.pause();
    plain.load();
    double s = timed([&] { for_each_kernel(plain, Loop{plain}); });
    t.load();
    rt.resume();
    double p = timed([&] { rt.factor(); });
    for (int j = 0; j < t.count; j++)
      for (int i = j; i < t.count; i++)
        if (std::memcmp(t.at(i, j), plain.at(i, j), sizeof(double) * a.tile * a.tile)) {
          std::fprintf(stderr, "%s: wrong result: tile %d, %d\n", program, i, j);
          std::exit(1);
        }
    if (r) loop.push_back(s), tasks.push_back(p);
  }
  rt.pause();
  double error = residual(plain);
  if (!(error < 1e-12)) {
    std::fprintf(stderr, "%s: wrong result: residual %g\n", program, error);
    std::exit(1);
  }
  std::vector<std::thread> threads;
  std::vector<Tiles> own(a.workers, Tiles(a.n, a.tile));
  std::vector<double> together(a.workers);
  for (auto &m : own) m.load();
  for (int w = 0; w < a.workers; w++)
    threads.emplace_back([&, w] { together[w] = timed([&] { for_each_kernel(own[w], Loop{own[w]}); }); });
  for (auto &thread : threads) thread.join();
  rt.resume();
  double flops = std::pow(a.n, 3) / 3, s = median_of(loop), p = median_of(tasks);
  std::printf(
      "{\"program\":\"%s\",\"measure\":\"cholesky\",\"n\":%d,\"tile\":%d,\"workers\":%d,\"gflops\":%.2f,\"gflops_loop\":%.2f,"
      "\"share\":%.4f,\"ceiling\":%.4f,\"other_load\":%.2f,\"seconds\":%.3f}\n",
      program, a.n, a.tile, a.workers, flops / p * 1e-9, flops / s * 1e-9, s / p / a.workers,
      s / *std::max_element(together.begin(), together.end()), load.cores(), load.seconds());
  return 0;
}
