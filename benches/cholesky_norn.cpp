// norn: a datum a tile, edges from the accesses; the main thread is one of the workers.
#include <norn.h>

#include "cholesky.h"

struct Operands {
  const double *a, *b;
  double *c;
  int size;
};
static int32_t run_potrf(norn_self *, void *x) {
  auto o = static_cast<const Operands *>(x);
  return potrf(o->c, o->size), 0;
}
static int32_t run_trsm(norn_self *, void *x) {
  auto o = static_cast<const Operands *>(x);
  return trsm(o->a, o->c, o->size), 0;
}
static int32_t run_syrk(norn_self *, void *x) {
  auto o = static_cast<const Operands *>(x);
  return syrk(o->a, o->c, o->size), 0;
}
static int32_t run_gemm(norn_self *, void *x) {
  auto o = static_cast<const Operands *>(x);
  return gemm(o->a, o->b, o->c, o->size), 0;
}
static void ok(norn_status s) {
  if (s != NORN_OK) {
    std::fprintf(stderr, "norn: %s: %s\n", norn_status_name(s), norn_last_error());
    std::exit(1);
  }
}

struct Norn {
  Tiles &t;
  norn_runtime *rt = nullptr;
  std::vector<norn_data> h;

  Norn(const CholeskyArgs &a, Tiles &t_) : t(t_), h((size_t)t_.count * t_.count) {
    norn_config config = NORN_CONFIG_INIT;
    config.workers = a.workers;
    config.flags = NORN_CALLER_WORKS;
    ok(norn_open(&config, &rt));
    for (int j = 0; j < t.count; j++)
      for (int i = j; i < t.count; i++) {
        norn_data_desc desc = NORN_DATA_DESC_INIT;
        desc.ptr = t.at(i, j);
        desc.bytes = sizeof(double) * t.b * t.b;
        ok(norn_data_register(rt, &desc, &datum(i, j)));
      }
  }
  ~Norn() {
    for (auto d : h)
      if (d.id) ok(norn_data_unregister(rt, d));
    ok(norn_close(rt));
  }
  norn_data &datum(int i, int j) { return h[(size_t)j * t.count + i]; }
  void task(norn_task_fn run, const char *name, Operands o, std::initializer_list<norn_access> x) {
    norn_task task = NORN_TASK_INIT;
    task.run = run;
    task.name = name;
    task.arg = &o;
    task.flags = NORN_COPY_ARG;
    task.arg_bytes = sizeof o;
    task.accesses = x.begin();
    task.access_count = x.size();
    ok(norn_submit(rt, &task, nullptr));
  }
  void potrf(int k) { task(run_potrf, "potrf", {nullptr, nullptr, t.at(k, k), t.b}, {norn_update(datum(k, k))}); }
  void trsm(int k, int i) {
    task(run_trsm, "trsm", {t.at(k, k), nullptr, t.at(i, k), t.b}, {norn_read(datum(k, k)), norn_update(datum(i, k))});
  }
  void syrk(int i, int k) {
    task(run_syrk, "syrk", {t.at(i, k), nullptr, t.at(i, i), t.b}, {norn_read(datum(i, k)), norn_update(datum(i, i))});
  }
  void gemm(int i, int j, int k) {
    task(run_gemm, "gemm", {t.at(i, k), t.at(j, k), t.at(i, j), t.b},
         {norn_read(datum(i, k)), norn_read(datum(j, k)), norn_update(datum(i, j))});
  }
  void factor() {
    for_each_kernel(t, *this);
    ok(norn_drain(rt, -1));
  }
  void pause() {}
  void resume() {}
};

int main(int argc, char **argv) {
  CholeskyArgs a = parse_cholesky(argc, argv);
  Tiles t(a.n, a.tile);
  Norn rt(a, t);
  return cholesky_main(rt, a, t);
}
