// StarPU: a matrix handle a tile, implicit dependencies, default scheduler; the main thread
// submits and then sleeps, beside `workers` threads.
#include <starpu.h>

#include "cholesky.h"

static double *tile(void *buffers[], int i) { return (double *)STARPU_MATRIX_GET_PTR(buffers[i]); }
static int size(void *buffers[]) { return (int)STARPU_MATRIX_GET_NX(buffers[0]); }
static void run_potrf(void **x, void *) { potrf(tile(x, 0), size(x)); }
static void run_trsm(void **x, void *) { trsm(tile(x, 0), tile(x, 1), size(x)); }
static void run_syrk(void **x, void *) { syrk(tile(x, 0), tile(x, 1), size(x)); }
static void run_gemm(void **x, void *) { gemm(tile(x, 0), tile(x, 1), tile(x, 2), size(x)); }

struct Codelet : starpu_codelet {
  Codelet(void (*f)(void **, void *), std::initializer_list<starpu_data_access_mode> m) {
    starpu_codelet_init(this);
    cpu_funcs[0] = f;
    nbuffers = (int)m.size();
    int i = 0;
    for (auto x : m) modes[i++] = x;
  }
};

static void ok(int r) {
  if (r) {
    std::fprintf(stderr, "starpu call failed: %d\n", r);
    std::exit(1);
  }
}

struct StarPU {
  Tiles &t;
  std::vector<starpu_data_handle_t> h;
  Codelet cl_potrf{run_potrf, {STARPU_RW}}, cl_trsm{run_trsm, {STARPU_R, STARPU_RW}},
      cl_syrk{run_syrk, {STARPU_R, STARPU_RW}}, cl_gemm{run_gemm, {STARPU_R, STARPU_R, STARPU_RW}};

  explicit StarPU(Tiles &t_) : t(t_), h((size_t)t_.count * t_.count) {
    for (int j = 0; j < t.count; j++)
      for (int i = j; i < t.count; i++)
        starpu_matrix_data_register(&datum(i, j), STARPU_MAIN_RAM, (uintptr_t)t.at(i, j), t.b, t.b, t.b, sizeof(double));
  }
  ~StarPU() {
    for (auto x : h)
      if (x) starpu_data_unregister(x);
  }
  starpu_data_handle_t &datum(int i, int j) { return h[(size_t)j * t.count + i]; }
  void potrf(int k) { ok(starpu_task_insert(&cl_potrf, STARPU_RW, datum(k, k), 0)); }
  void trsm(int k, int i) { ok(starpu_task_insert(&cl_trsm, STARPU_R, datum(k, k), STARPU_RW, datum(i, k), 0)); }
  void syrk(int i, int k) { ok(starpu_task_insert(&cl_syrk, STARPU_R, datum(i, k), STARPU_RW, datum(i, i), 0)); }
  void gemm(int i, int j, int k) {
    ok(starpu_task_insert(&cl_gemm, STARPU_R, datum(i, k), STARPU_R, datum(j, k), STARPU_RW, datum(i, j), 0));
  }
  void factor() {
    for_each_kernel(t, *this);
    ok(starpu_task_wait_for_all());
  }
  void pause() { starpu_pause(); }
  void resume() { starpu_resume(); }
};

int main(int argc, char **argv) {
  CholeskyArgs a = parse_cholesky(argc, argv);
  Tiles t(a.n, a.tile);
  setenv("STARPU_NCPU", std::to_string(a.workers).c_str(), 1);
  setenv("STARPU_NCUDA", "0", 1);
  setenv("STARPU_NOPENCL", "0", 1);
  setenv("STARPU_SILENT", "1", 0);
  setenv("STARPU_CALIBRATE", "0", 0);
  setenv("STARPU_BUS_CALIBRATE", "0", 0);
  setenv("STARPU_PROFILING", "0", 0);
  ok(starpu_init(nullptr));
  int status;
  {
    StarPU rt(t);
    status = cholesky_main(rt, a, t);
  }
  starpu_shutdown();
  return status;
}
