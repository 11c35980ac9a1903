/* A device that is opened again stays as it was opened first, and a ceiling or a number of streams that differs is told to the
 * log. Before any is open, the calls on devices say so.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/device.h"

static atomic_int is_open, warnings;
static char last[512];
static norn_runtime *rt;

static void sink(void *arg, int32_t level, const char *text) {
    (void)arg;
    if (level != NORN_LOG_WARN || !is_open) return;
    atomic_fetch_add(&warnings, 1);
    snprintf(last, sizeof last, "%s", text);
    /* Nothing is locked meanwhile. */
    norn_device_info info = NORN_DEVICE_INFO_INIT;
    CHECK_OK(norn_device_get(rt, norn_place_of(NORN_PLACE_DEVICE, 0), &info));
}

static void none_is_open(void) {
    norn_place place = norn_place_of(NORN_PLACE_DEVICE, 0);
    norn_device_info info = NORN_DEVICE_INFO_INIT;
    norn_module module = {0};
    norn_kernel kernel;
    norn_token token;
    norn_launch_desc launch = NORN_LAUNCH_INIT;
    CHECK_STATUS(norn_device_get(rt, place, &info), NORN_E_UNSUPPORTED);
    CHECK_STATUS(norn_module_load(rt, place, "x", 1, NULL, &module), NORN_E_UNSUPPORTED);
    CHECK_STATUS(norn_kernel_get(rt, module, "x", &kernel), NORN_E_UNSUPPORTED);
    CHECK_STATUS(norn_launch(rt, &launch, NULL, NULL), NORN_E_UNSUPPORTED);
    CHECK_STATUS(norn_stream_record(rt, place, NULL, &token), NORN_E_UNSUPPORTED);
    CHECK_STATUS(norn_stream_wait(rt, (norn_token){0}, place, NULL, 0), NORN_E_UNSUPPORTED);
}

int main(void) {
    norn_config runtime = NORN_CONFIG_INIT;
    runtime.log = sink;
    CHECK_OK(norn_open(&runtime, &rt));
    none_is_open();
    norn_device_config config = NORN_DEVICE_CONFIG_INIT;
    norn_place first, again;
    config.max_bytes = 4096;
    config.streams = 3;
    norn_status status = norn_device_open(rt, &config, &first);
    if (status == NORN_E_UNSUPPORTED) {
        printf("skipped: %s\n", norn_last_error());
        CHECK_OK(norn_close(rt));
        return SKIPPED;
    }
    CHECK_OK(status);
    is_open = 1;
    CHECK_OK(norn_device_open(rt, &config, &again));
    CHECK_OK(norn_device_open(rt, NULL, &again));
    CHECK_EQUAL(warnings, 0);
    config.max_bytes = 8192;
    config.streams = 5;
    CHECK_OK(norn_device_open(rt, &config, &again));
    CHECK(again.kind == first.kind && again.index == first.index);
    CHECK_EQUAL(warnings, 1);
    CHECK_TEXT(last, "max_bytes stays 4096, not 8192");
    CHECK_TEXT(last, "streams stays 3, not 5");
    config.streams = -1;
    CHECK_STATUS(norn_device_open(rt, &config, &again), NORN_E_INVALID);
    CHECK_SAYS("config.streams");
    CHECK_OK(norn_close(rt));
    return 0;
}
