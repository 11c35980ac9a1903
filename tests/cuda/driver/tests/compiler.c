/*
 * The stand-in compiler: source to a module that loads, and errors with a log.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#include "case.h"

int nvrtcCreateProgram(void **program, const char *source, const char *name, int headers, const char *const *texts,
                       const char *const *names);
int nvrtcDestroyProgram(void **program);
int nvrtcCompileProgram(void *program, int count, const char *const *options);
int nvrtcGetPTXSize(void *program, size_t *bytes);
int nvrtcGetPTX(void *program, char *ptx);
int nvrtcGetProgramLogSize(void *program, size_t *bytes);
int nvrtcGetProgramLog(void *program, char *log);

static int compile(const char *source, char *ptx, char *log) {
    void *program;
    size_t bytes;
    const char *options[] = {"--gpu-architecture=compute_70"};
    EQUAL(nvrtcCreateProgram(&program, source, "test.cu", 0, NULL, NULL), 0);
    const int result = nvrtcCompileProgram(program, 1, options);
    EQUAL(nvrtcGetProgramLogSize(program, &bytes), 0);
    CHECK(bytes <= 4096);
    EQUAL(nvrtcGetProgramLog(program, log), 0);
    if (result == 0) {
        EQUAL(nvrtcGetPTXSize(program, &bytes), 0);
        CHECK(bytes <= 4096);
        EQUAL(nvrtcGetPTX(program, ptx), 0);
    } else {
        EQUAL(nvrtcGetPTXSize(program, &bytes), 4);
    }
    EQUAL(nvrtcDestroyProgram(&program), 0);
    CHECK(program == NULL);
    return result;
}

static void source_becomes_a_module(void) {
    static char ptx[4096], log[4096];
    EQUAL(compile("// extern \"C\" __global__ void not_this(\n"
                  "extern \"C\" __global__ void axpy_f64(double *y, const double *x, unsigned long long n, double a)\n"
                  "{ for (unsigned long long i = 0; i < n; ++i) y[i] += a * x[i]; }\n"
                  "extern \"C\" __global__ void __launch_bounds__(128) unused_name(int a) {}\n"
                  "extern \"C\" __global__ void noop() {}\n",
                  ptx, log),
          0);
    CHECK(strstr(ptx, "not_this") == NULL);
    CUmodule module;
    size_t offset, bytes;
    enter(0);
    OK(cuModuleLoadData(&module, ptx));
    CUfunction function;
    OK(cuModuleGetFunction(&function, module, "axpy_f64"));
    OK(cuFuncGetParamInfo(function, 3, &offset, &bytes));
    EQUAL(offset, 24);
    EQUAL(bytes, 8);
    OK(cuModuleGetFunction(&function, module, "noop"));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    OK(cuModuleUnload(module));
    leave(0);
}

static void error_directive_is_told_with_its_line(void) {
    static char ptx[4096], log[4096];
    EQUAL(compile("int a;\n#error planted here\n", ptx, log), 6);
    CHECK(strstr(log, "test.cu(2): error") != NULL && strstr(log, "planted here") != NULL);
}

static void unbalanced_braces_are_an_error(void) {
    static char ptx[4096], log[4096];
    EQUAL(compile("extern \"C\" __global__ void noop() {\n", ptx, log), 6);
    CHECK(strstr(log, "expected a \"}\"") != NULL);
}

static void unknown_program_is_refused(void) {
    size_t bytes;
    int other;
    EQUAL(nvrtcGetPTXSize(&other, &bytes), 4);
    EQUAL(nvrtcCompileProgram(NULL, 0, NULL), 4);
}

CASES(OWN(source_becomes_a_module), OWN(error_directive_is_told_with_its_line), OWN(unbalanced_braces_are_an_error),
      OWN(unknown_program_is_refused))
