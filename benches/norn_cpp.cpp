// What norn.hpp costs over the C call: the same graph submitted both ways in one process, in turn, and the ratio.
// The C side does what a C program has to do for the same effect: a closure is a structure and a function.
//
//     norn_cpp NTASKS WORKERS REPEATS
//
// Patterns: empty (no argument), pointer (one captured pointer), inline (three captured words, copied by norn), heap
// (ten captured words, malloc and free in C), chain (one datum, its pointer), value (a result that is read).
// "submit" is the time inside the submit calls, tasks held back by a promise; "run" is from the first submit to the drain.
#include <norn.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <vector>

static double now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
}

static void ok(norn_status s) {
  if (s == NORN_OK) return;
  std::fprintf(stderr, "norn_cpp: %s: %s\n", norn_status_name(s), norn_last_error());
  std::exit(1);
}

static long n;
static std::vector<long> cells; // one a task, so that bodies share no line
struct Three { long *at, a, b; };
struct Ten { long *at, more[9]; };

// C bodies.
static int32_t c_empty(norn_self *, void *) { return 0; }
static int32_t c_pointer(norn_self *, void *x) { ++*static_cast<long *>(x); return 0; }
static int32_t c_inline(norn_self *, void *x) { auto t = static_cast<Three *>(x); *t->at += t->a + t->b; return 0; }
static int32_t c_heap(norn_self *, void *x) { auto t = static_cast<Ten *>(x); *t->at += t->more[8]; return 0; }
struct Value { long *at, result; };
static int32_t c_value(norn_self *, void *x) { auto v = static_cast<Value *>(x); v->result = *v->at; return 0; }

struct Bench {
  norn::runtime &rt;
  norn::data<long> &datum;
  norn::token gate{};

  void c_submit(norn_task task) {
    task.after = &gate;
    task.after_count = 1;
    ok(norn_submit(rt.handle(), &task, nullptr));
  }
  void c(int pattern) {
    norn_task task = NORN_TASK_INIT;
    switch (pattern) {
      case 0:
        task.run = c_empty;
        for (long i = 0; i < n; ++i) c_submit(task);
        break;
      case 1:
        task.run = c_pointer;
        for (long i = 0; i < n; ++i) task.arg = &cells[i * 8], c_submit(task);
        break;
      case 2:
        task.run = c_inline;
        task.flags = NORN_COPY_ARG;
        task.arg_bytes = sizeof(Three);
        for (long i = 0; i < n; ++i) {
          Three t{&cells[i * 8], i, 1};
          task.arg = &t;
          c_submit(task);
        }
        break;
      case 3:
        task.run = c_heap;
        task.drop = std::free;
        for (long i = 0; i < n; ++i) {
          Ten *t = static_cast<Ten *>(std::malloc(sizeof(Ten)));
          *t = Ten{&cells[i * 8], {0, 1, 2, 3, 4, 5, 6, 7, i}};
          task.arg = t;
          c_submit(task);
        }
        break;
      case 4: {
        norn_access a = norn_update(datum.handle());
        task.run = c_pointer;
        task.arg = &cells[0];
        task.accesses = &a;
        task.access_count = 1;
        for (long i = 0; i < n; ++i) c_submit(task);
        break;
      }
      case 5: {
        task.run = c_value;
        std::vector<Value *> values(n);
        std::vector<norn_token> tokens(n);
        task.after = &gate;
        task.after_count = 1;
        for (long i = 0; i < n; ++i) {
          values[i] = static_cast<Value *>(std::malloc(sizeof(Value)));
          values[i]->at = &cells[i * 8];
          task.arg = values[i];
          ok(norn_submit(rt.handle(), &task, &tokens[i]));
        }
        finish = [this, values = std::move(values), tokens = std::move(tokens)] {
          long sum = 0;
          for (long i = 0; i < n; ++i) {
            ok(norn_await(rt.handle(), tokens[i], -1));
            sum += values[i]->result;
            std::free(values[i]);
          }
          cells[0] += sum;
        };
        break;
      }
    }
  }
  void cpp(int pattern) {
    switch (pattern) {
      case 0:
        for (long i = 0; i < n; ++i) rt.submit([] {}, gate);
        break;
      case 1:
        for (long i = 0; i < n; ++i) rt.submit([at = &cells[i * 8]] { ++*at; }, gate);
        break;
      case 2:
        for (long i = 0; i < n; ++i) rt.submit([t = Three{&cells[i * 8], i, 1}] { *t.at += t.a + t.b; }, gate);
        break;
      case 3:
        for (long i = 0; i < n; ++i) rt.submit([t = Ten{&cells[i * 8], {0, 1, 2, 3, 4, 5, 6, 7, i}}] { *t.at += t.more[8]; }, gate);
        break;
      case 4:
        for (long i = 0; i < n; ++i) rt.submit([at = &cells[0]] { ++*at; }, gate, norn::update(datum));
        break;
      case 5: {
        std::vector<norn::future<long>> futures(n);
        for (long i = 0; i < n; ++i) futures[i] = rt.submit([at = &cells[i * 8]] { return *at; }, gate);
        kept = std::move(futures);
        finish = [this] {
          long sum = 0;
          for (auto &f : kept) sum += f.get();
          kept.clear();
          cells[0] += sum;
        };
        break;
      }
    }
  }
  std::vector<norn::future<long>> kept;
  std::function<void()> finish;

  // ns a task: submitting, and all.
  void once(bool in_cpp, int pattern, double &submitting, double &all) {
    norn::promise<void> hold(rt);
    gate = hold.token();
    finish = nullptr;
    const double t0 = now_ns();
    in_cpp ? cpp(pattern) : c(pattern);
    const double t1 = now_ns();
    hold.set_value();
    if (finish) finish();
    rt.drain();
    const double t2 = now_ns();
    submitting = (t1 - t0) / static_cast<double>(n);
    all = (t2 - t0) / static_cast<double>(n);
  }
};

int main(int argc, char **argv) {
  n = argc > 1 ? std::atol(argv[1]) : 65536;
  norn::config config;
  config.workers = argc > 2 ? std::atoi(argv[2]) : 2;
  config.flags = NORN_CALLER_WORKS;
  const int repeats = argc > 3 ? std::atoi(argv[3]) : 15;
  if (n < 1 || repeats < 1) return std::fprintf(stderr, "usage: norn_cpp NTASKS WORKERS REPEATS\n"), 2;
  cells.assign(static_cast<size_t>(n) * 8, 0);
  long cell = 0;
  norn::runtime rt(config);
  norn::data<long> datum(rt, &cell, 1);
  Bench bench{rt, datum, {}, {}, {}};
  const char *const names[] = {"empty", "pointer", "inline", "heap", "chain", "value"};
  std::printf("norn.hpp beside norn.h, %ld tasks, %d workers, median of %d, ns per task\n", n, static_cast<int>(config.workers), repeats);
  std::printf("%-10s%12s%12s%8s%12s%12s%8s\n", "", "C submit", "C++ submit", "ratio", "C run", "C++ run", "ratio");
  for (int p = 0; p < 6; ++p) {
    std::vector<double> submit[2], all[2];
    double s, a;
    for (int r = -2; r < repeats; ++r)
      for (int k = 0; k < 2; ++k) {
        const int cpp = (r + k) & 1; // in turn, each first as often
        bench.once(cpp != 0, p, s, a);
        if (r >= 0) submit[cpp].push_back(s), all[cpp].push_back(a);
      }
    const auto median = [](std::vector<double> &v) { return std::nth_element(v.begin(), v.begin() + v.size() / 2, v.end()), v[v.size() / 2]; };
    const double cs = median(submit[0]), ps = median(submit[1]), ca = median(all[0]), pa = median(all[1]);
    std::printf("%-10s%12.1f%12.1f%8.2f%12.1f%12.1f%8.2f\n", names[p], cs, ps, ps / cs, ca, pa, pa / ca);
  }
}
