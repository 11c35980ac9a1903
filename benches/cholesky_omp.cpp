// OpenMP: depend clauses on the first element of each tile; the submitting thread helps at
// the end. Built with gcc (libgomp) and with clang (libomp).
#include <omp.h>

#include "cholesky.h"

struct OpenMP {
  const CholeskyArgs &a;
  Tiles &t;
  void potrf(int k) {
    double *c = t.at(k, k);
    int b = t.b;
#pragma omp task depend(inout : c[0]) firstprivate(c, b)
    ::potrf(c, b);
  }
  void trsm(int k, int i) {
    double *x = t.at(k, k), *c = t.at(i, k);
    int b = t.b;
#pragma omp task depend(in : x[0]) depend(inout : c[0]) firstprivate(x, c, b)
    ::trsm(x, c, b);
  }
  void syrk(int i, int k) {
    double *x = t.at(i, k), *c = t.at(i, i);
    int b = t.b;
#pragma omp task depend(in : x[0]) depend(inout : c[0]) firstprivate(x, c, b)
    ::syrk(x, c, b);
  }
  void gemm(int i, int j, int k) {
    double *x = t.at(i, k), *y = t.at(j, k), *c = t.at(i, j);
    int b = t.b;
#pragma omp task depend(in : x[0], y[0]) depend(inout : c[0]) firstprivate(x, y, c, b)
    ::gemm(x, y, c, b);
  }
  void factor() {
#pragma omp parallel num_threads(a.workers)
#pragma omp single
    for_each_kernel(t, *this);
  }
  // libomp's threads look for work for 200 ms after a region.
  void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(300)); }
  void resume() {}
};

int main(int argc, char **argv) {
  CholeskyArgs a = parse_cholesky(argc, argv);
  Tiles t(a.n, a.tile);
  OpenMP rt{a, t};
  return cholesky_main(rt, a, t);
}
