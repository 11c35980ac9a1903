/*
 * Symbols: looked up through the driver itself, and everything that the header declares.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#include "case.h"

#include <dlfcn.h>

static void looked_up_by_version(void) {
    void *old = NULL, *current = NULL, *absent = NULL;
    int status = -1;
    OK(cuGetProcAddress_v2("cuMemAlloc", &current, 12000, 0, &status));
    EQUAL(status, CU_GET_PROC_ADDRESS_SUCCESS);
    CHECK(current == dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
    OK(cuGetProcAddress_v2("cuEventElapsedTime", &old, 12000, 0, &status));
    CHECK(old == dlsym(RTLD_DEFAULT, "cuEventElapsedTime"));
    OK(cuGetProcAddress_v2("cuEventElapsedTime", &current, 12080, 0, &status));
    CHECK(current == dlsym(RTLD_DEFAULT, "cuEventElapsedTime_v2"));
    RESULT(cuGetProcAddress_v2("cuNoSuchCall", &absent, 12000, 0, &status), CUDA_ERROR_NOT_FOUND);
    EQUAL(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

static void found_under_both_names(void) {
    void *first = dlopen("libcuda.so.1", RTLD_LAZY), *second = dlopen("libcuda.so", RTLD_LAZY);
    CHECK(first != NULL && first == second);
}

static void nothing_else_is_exported(void) {
    CHECK(dlsym(RTLD_DEFAULT, "cuInit") != NULL);
    CHECK(dlsym(RTLD_DEFAULT, "standin_report") != NULL);
    Dl_info info;
    CHECK(dladdr((void *)(uintptr_t)cuInit, &info) != 0 && strstr(info.dli_fname, "libcuda.so") != NULL);
}

CASES(OWN(looked_up_by_version), OWN(found_under_both_names), OWN(nothing_else_is_exported))
