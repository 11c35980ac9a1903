// The graphs: their shapes, the bodies of their tasks with the check, the data they work on,
// and the grain. The programs submit these; bench.h measures them.
#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <vector>

enum Pattern { INDEPENDENT, CHAIN, STENCIL, WAVEFRONT, FANOUT, ACCESSES };
static const char *const PATTERN_NAMES[] = {"independent", "chain", "stencil", "wavefront", "fanout", "accesses"};

struct alignas(64) Cell {
  long v;
};

static constexpr long W = 64;  // width of the stencil, a ring

struct Args {
  const char *program;
  const char *measure;
  Pattern pattern = STENCIL;
  long tasks = 65536;  // after rounding to the pattern's shape; with a window: of all batches
  long batch = 0;      // tasks that one submit() makes
  long batches = 1;
  int workers = 0;
  long grain = 0;
  long accesses = 4;
  long window = 0;
  int repeats = 5;
  double seconds = 2;
  long steps = 0;  // of the stencil, a batch
  long side = 0;   // of the wavefront's grid
  bool held = false;
};

static long spin_iterations = 0;
static double ns_per_iteration = 0;
static bool checking = false;
static std::atomic<long> check_errors{0}, check_count{0}, check_undeferred{0};
static thread_local bool in_submit = false;

static inline double now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static inline void spin_loop(long iterations) {
  uint64_t x = 3;
  __asm__ volatile(
      "1:\n\t"
      "imulq %0, %0\n\t"
      "decq %1\n\t"
      "jnz 1b\n\t"
      : "+r"(x), "+r"(iterations)
      :
      : "cc");
}

static void calibrate() {
  const long n = 100000;
  double best = 1e30;
  for (int i = 0; i < 60; i++) {
    double t = now_ns();
    spin_loop(n);
    best = std::min(best, (now_ns() - t) / n);
  }
  ns_per_iteration = best;
}

static void set_grain(double ns) {
  spin_iterations = ns > 0 ? std::max(1L, std::lround(ns / ns_per_iteration)) : 0;
}

// ---- task bodies -------------------------------------------------------------
static inline void spin() {
  if (spin_iterations) spin_loop(spin_iterations);
}
// A body that runs inside the submission on the submitting thread was not deferred.
static inline void count_body() {
  check_count++;
  if (in_submit) check_undeferred++;
}
static inline void body_independent() {
  if (checking) count_body();
  spin();
}
static inline void body_chain(Cell *d) {
  if (checking) {
    d->v++;
    count_body();
  }
  spin();
}
static inline void body_stencil(const Cell *l, const Cell *c, const Cell *r, Cell *out) {
  if (checking) {
    if (l->v != c->v || c->v != r->v) check_errors++;
    out->v = c->v + 1;
    count_body();
  }
  spin();
}
static inline void body_wavefront(const Cell *left, const Cell *up, Cell *out) {
  if (checking) {
    long a = left ? left->v : 0, b = up ? up->v : 0;
    if (left && up && a != b) check_errors++;
    out->v = std::max(a, b) + 1;
    count_body();
  }
  spin();
}
static inline void body_fan_producer(Cell *d) {
  if (checking) {
    d->v = 1;
    count_body();
  }
  spin();
}
static inline void body_fan_reader(const Cell *d) {
  if (checking) {
    if (d->v != 1) check_errors++;
    count_body();
  }
  spin();
}
static inline void body_fan_writer(Cell *d, long readers) {
  if (checking) {
    if (d->v != 1 || check_count != readers + 1) check_errors++;
    d->v = 2;
    count_body();
  }
  spin();
}

// The accesses pattern is the stencil with another number of accesses: of A, one is the write
// of cell i and A - 1 are reads of the ring's previous step around i. A - 1 is odd, so that
// those who read what a task overwrites are those it reads from, as in the stencil.
// A = 1 only writes; A = 0 has no accesses at all.
static inline long read_cell(long i, long reads, long k) { return (i + W - (reads - 1) / 2 + k) % W; }
static inline void body_accesses(const Cell *previous, Cell *out, long i, long reads) {
  if (checking) {
    if (reads > 0) {
      for (long k = 0; k < reads; k++)
        if (previous[read_cell(i, reads, k)].v != previous[i].v) check_errors++;
      out->v = previous[i].v + 1;
    } else if (out) {
      out->v++;
    }
    count_body();
  }
  spin();
}

static std::atomic<double> woke_at{0};
static inline void body_wake() { woke_at.store(now_ns(), std::memory_order_release); }

// ---- the data the tasks work on ------------------------------------------------
struct Data {
  std::vector<Cell> cells;
  Cell *one;        // chain, fanout
  Cell *buf[2];     // stencil, accesses
  Cell *grid;       // wavefront, row major
  Cell gate{0};     // what the first tasks read, where the program has no other gate
  explicit Data(const Args &a) {
    size_t n = 1;
    if (a.pattern == STENCIL || a.pattern == ACCESSES) n = 2 * W;
    if (a.pattern == WAVEFRONT) n = (size_t)(a.side * a.side);
    cells.assign(n, Cell{0});
    one = grid = buf[0] = cells.data();
    buf[1] = n == 2 * W ? cells.data() + W : nullptr;
  }
  void clear() {
    for (auto &c : cells) c.v = 0;
  }
};

static inline long ring_left(long i) { return (i + W - 1) % W; }
static inline long ring_right(long i) { return (i + 1) % W; }
