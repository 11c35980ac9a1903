// norn: one task a submit through the C ABI, edges derived from data accesses.
// The submitting main thread is one of the WORKERS (NORN_CALLER_WORKS) and works
// inside the drain. Data are registered before the timed part.
#include <norn.h>

#include "bench.h"

static long fan_readers;

// A task's argument is copied into the task, up to four cells.
struct Cells {
  Cell *c[4];
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
static int32_t f_writer(norn_self *, void *x) { return body_fan_writer(static_cast<Cell *>(x), fan_readers), 0; }

static void ok(norn_status s) {
  if (s != NORN_OK) {
    std::fprintf(stderr, "norn: %s: %s\n", norn_status_name(s), norn_last_error());
    std::exit(1);
  }
}

int main(int argc, char **argv) {
  Args a = parse_args(argc, argv);
  Data d(a);
  fan_readers = a.n - 2;
  norn_config config = NORN_CONFIG_INIT;
  config.workers = a.workers;
  config.flags = NORN_CALLER_WORKS;
  norn_runtime *rt;
  ok(norn_open(&config, &rt));
  std::vector<norn_data> h(d.cells.size());
  for (size_t i = 0; i < h.size(); i++) {
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    desc.ptr = &d.cells[i];
    desc.bytes = sizeof(Cell);
    ok(norn_data_register(rt, &desc, &h[i]));
  }
  // The arguments of all tasks of one step or of the grid, made once: what a time loop of an application has too.
  std::vector<Cells> args;
  if (a.pattern == STENCIL)
    for (long s = 0; s < 2; s++)
      for (long i = 0; i < W; i++) {
        Cell *p = d.buf[s], *c = d.buf[s ^ 1];
        args.push_back({{&p[ring_left(i)], &p[i], &p[ring_right(i)], &c[i]}});
      }
  if (a.pattern == WAVEFRONT)
    for (long i = 0; i < a.side; i++)
      for (long j = 0; j < a.side; j++) {
        Cell *c = &d.grid[i * a.side + j];
        args.push_back({{j ? c - 1 : nullptr, i ? c - a.side : nullptr, c, nullptr}});
      }

  auto submit = [&](norn_task_fn run, void *arg, const norn_access *accesses, uint64_t count) {
    norn_task task = NORN_TASK_INIT;
    task.run = run;
    task.arg = arg;
    task.accesses = accesses;
    task.access_count = count;
    ok(norn_submit(rt, &task, nullptr));
  };

  measure("norn", a, d, [&] {
    check_count = 0;
    double t0 = now_ns();
    norn_access x[4];
    switch (a.pattern) {
      case INDEPENDENT:
        for (long k = 0; k < a.n; k++) submit(f_independent, nullptr, nullptr, 0);
        break;
      case CHAIN:
        x[0] = norn_update(h[0]);
        for (long k = 0; k < a.n; k++) submit(f_chain, d.one, x, 1);
        break;
      case STENCIL:
        for (long s = 0; s < a.steps; s++) {
          norn_data *p = &h[W * (s & 1)], *c = &h[W * ((s + 1) & 1)];
          for (long i = 0; i < W; i++) {
            x[0] = norn_read(p[ring_left(i)]);
            x[1] = norn_read(p[i]);
            x[2] = norn_read(p[ring_right(i)]);
            x[3] = norn_write(c[i]);
            submit(f_stencil, &args[W * (s & 1) + i], x, 4);
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
            submit(f_wave, &args[i * a.side + j], x, n);
          }
        break;
      case FANOUT:
        x[0] = norn_write(h[0]);
        submit(f_producer, d.one, x, 1);
        x[0] = norn_read(h[0]);
        for (long k = 0; k < a.n - 2; k++) submit(f_reader, d.one, x, 1);
        x[0] = norn_update(h[0]);
        submit(f_writer, d.one, x, 1);
        break;
    }
    ok(norn_drain(rt, -1));
    return now_ns() - t0;
  });
  for (auto data : h) ok(norn_data_unregister(rt, data));
  ok(norn_close(rt));
}
