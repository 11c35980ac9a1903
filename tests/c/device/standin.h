/*
 * What tests of devices ask of the stand-in driver; on a real driver they find nothing of it.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#ifndef NORN_TESTS_STANDIN_H
#define NORN_TESTS_STANDIN_H

#include "device/device.h"

#include "../../cuda/driver/standin.h"

/* A function of the stand-in; only where standin_is_here(). */
#define STANDIN(name) ((__typeof__(&name))(uintptr_t)standin_symbol(#name))

static inline int standin_is_here(void) { return standin_symbol("standin_report") != NULL; }

/* Ends the test as skipped on a real driver. Loads the driver where norn has not yet done so. */
static inline void standin_or_skip(void) {
    if (dlopen("libcuda.so", RTLD_NOW) == NULL) dlopen("libcuda.so.1", RTLD_NOW);
    if (standin_is_here()) return;
    printf("skipped: not on the stand-in driver\n");
    exit(SKIPPED);
}

/* After the runtime was closed: it left nothing on the devices and broke no rule. Nothing to see on a real driver. */
static inline void check_nothing_left(void) {
    static const char *const kinds[] = {"contexts", "streams",      "events",           "modules", "pools",
                                        "pending",  "device-bytes", "registered-bytes", "pinned-bytes"};
    if (!standin_is_here()) return;
    CHECK_EQUAL(STANDIN(standin_violations)(NULL), 0);
    for (size_t i = 0; i < COUNT_OF(kinds); ++i) {
        const long long left = STANDIN(standin_live)(kinds[i]);
        if (left != 0) fprintf(stderr, "%lld %s left\n", left, kinds[i]);
        CHECK_EQUAL(left, 0);
    }
}

#endif
