// norn. One norn_submit a task through the C ABI of the shared library; edges are derived
// from the accesses. The main thread is one of the workers (NORN_CALLER_WORKS): it submits,
// then works inside the drain. The gate is a promise that the first tasks come after.
#include <norn.h>

#include "bench.h"

// What a body gets: a pointer to cells that outlive the run, nothing is copied.
struct Cells {
  Cell *c[4];
  long i, k;
};

static int32_t f_independent(norn_self *, void *) { return body_independent(), 0; }
static int32_t f_chain(norn_self *, void *x) { return body_chain(static_cast<Cell *>(x)), 0; }
static int32_t f_stencil(norn_self *, void *x) {
  const Cells *a = static_cast<const Cells *>(x);
  return body_stencil(a->c[0], a->c[1], a->c[2], a->c[3]), 0;
}
static int32_t f_wave(norn_self *, void *x) {
  const Cells *a = static_cast<const Cells *>(x);
  return body_wavefront(a->c[0], a->c[1], a->c[2]), 0;
}
static int32_t f_producer(norn_self *, void *x) { return body_fan_producer(static_cast<Cell *>(x)), 0; }
static int32_t f_reader(norn_self *, void *x) { return body_fan_reader(static_cast<const Cell *>(x)), 0; }
static int32_t f_writer(norn_self *, void *x) {
  const Cells *a = static_cast<const Cells *>(x);
  return body_fan_writer(a->c[0], a->k), 0;
}
static int32_t f_accesses(norn_self *, void *x) {
  const Cells *a = static_cast<const Cells *>(x);
  return body_accesses(a->c[0], a->c[1], a->i, a->k), 0;
}
static int32_t f_wake(norn_self *, void *) { return body_wake(), 0; }

static void ok(norn_status s) {
  if (s != NORN_OK) {
    std::fprintf(stderr, "norn: %s: %s\n", norn_status_name(s), norn_last_error());
    std::exit(1);
  }
}

struct Norn {
  Args &a;
  Data &d;
  norn_runtime *rt = nullptr;
  std::vector<norn_data> h;
  std::vector<Cells> args;  // of all tasks of two steps, or of the grid
  norn_token gate{};

  Norn(Args &a_, Data &d_) : a(a_), d(d_) {
    norn_config config = NORN_CONFIG_INIT;
    config.workers = a.workers;
    config.flags = NORN_CALLER_WORKS;
    ok(norn_open(&config, &rt));
    h.resize(d.cells.size());
    for (size_t i = 0; i < h.size(); i++) {
      norn_data_desc desc = NORN_DATA_DESC_INIT;
      desc.ptr = &d.cells[i];
      desc.bytes = sizeof(Cell);
      ok(norn_data_register(rt, &desc, &h[i]));
    }
    for (long s = 0; s < 2; s++)
      for (long i = 0; i < W; i++) {
        Cell *p = d.buf[s], *c = d.buf[s ^ 1];
        if (a.pattern == STENCIL) args.push_back({{&p[ring_left(i)], &p[i], &p[ring_right(i)], &c[i]}, 0, 0});
        if (a.pattern == ACCESSES)
          args.push_back({{p, a.accesses ? &c[i] : nullptr, nullptr, nullptr}, i, std::max(0L, a.accesses - 1)});
      }
    if (a.pattern == WAVEFRONT)
      for (long i = 0; i < a.side; i++)
        for (long j = 0; j < a.side; j++) {
          Cell *c = &d.grid[i * a.side + j];
          args.push_back({{j ? c - 1 : nullptr, i ? c - a.side : nullptr, c, nullptr}, 0, 0});
        }
    if (a.pattern == FANOUT) args.push_back({{d.one, nullptr, nullptr, nullptr}, 0, a.batch - 2});
  }
  ~Norn() {
    for (auto data : h) ok(norn_data_unregister(rt, data));
    ok(norn_close(rt));
  }

  // The description is kept from task to task, as a program with many tasks of a kind does: to fill 128 bytes with
  // zeros for each would cost more than a tenth of an independent task.
  norn_task next = NORN_TASK_INIT;

  void task(norn_task_fn run, void *arg, const norn_access *accesses, uint64_t count) {
    next.run = run;
    next.arg = arg;
    next.accesses = accesses;
    next.access_count = count;
    ok(norn_submit(rt, &next, nullptr));
  }
  void gated(norn_task_fn run, void *arg, const norn_access *accesses, uint64_t count) {
    next.after = &gate;
    next.after_count = 1;
    task(run, arg, accesses, count);
    next.after = nullptr;
    next.after_count = 0;
  }

  void submit() {
    norn_access x[W];
    switch (a.pattern) {
      case INDEPENDENT:
        if (gate.id)
          for (long k = 0; k < a.batch; k++) gated(f_independent, nullptr, nullptr, 0);
        else
          for (long k = 0; k < a.batch; k++) task(f_independent, nullptr, nullptr, 0);
        break;
      case CHAIN:
        x[0] = norn_update(h[0]);
        for (long k = 0; k < a.batch; k++) task(f_chain, d.one, x, 1);
        break;
      case STENCIL:
        for (long s = 0; s < a.steps; s++) {
          norn_data *p = &h[W * (s & 1)], *c = &h[W * ((s + 1) & 1)];
          for (long i = 0; i < W; i++) {
            x[0] = norn_read(p[ring_left(i)]);
            x[1] = norn_read(p[i]);
            x[2] = norn_read(p[ring_right(i)]);
            x[3] = norn_write(c[i]);
            if (s == 0 && gate.id)
              gated(f_stencil, &args[i], x, 4);
            else
              task(f_stencil, &args[W * (s & 1) + i], x, 4);
          }
        }
        break;
      case WAVEFRONT:
        for (long i = 0; i < a.side; i++)
          for (long j = 0; j < a.side; j++) {
            norn_data *c = &h[i * a.side + j];
            int n = 0;
            if (j) x[n++] = norn_read(c[-1]);
            if (i) x[n++] = norn_read(c[-a.side]);
            x[n++] = norn_write(c[0]);
            task(f_wave, &args[i * a.side + j], x, n);
          }
        break;
      case FANOUT:
        x[0] = norn_write(h[0]);
        task(f_producer, d.one, x, 1);
        x[0] = norn_read(h[0]);
        for (long k = 0; k < a.batch - 2; k++) task(f_reader, d.one, x, 1);
        x[0] = norn_update(h[0]);
        task(f_writer, &args[0], x, 1);
        break;
      case ACCESSES:
        for (long s = 0; s < a.steps; s++) {
          norn_data *p = &h[W * (s & 1)], *c = &h[W * ((s + 1) & 1)];
          for (long i = 0; i < W; i++) {
            for (long k = 0; k + 1 < a.accesses; k++) x[k] = norn_read(p[read_cell(i, a.accesses - 1, k)]);
            if (a.accesses) x[a.accesses - 1] = norn_write(c[i]);
            task(f_accesses, &args[W * (s & 1) + i], x, a.accesses);
          }
        }
        break;
    }
  }
  void wait() { ok(norn_drain(rt, -1)); }
  bool close_gate() { return ok(norn_promise(rt, "gate", &gate)), true; }
  void open_gate() {
    ok(norn_fulfill(rt, gate));
    gate = norn_token{};
  }
  void submit_wake() { task(f_wake, nullptr, nullptr, 0); }
};

int main(int argc, char **argv) {
  Args a = parse_args(argc, argv);
  Data d(a);
  Norn rt(a, d);
  return bench_main(rt, a, d);
}
