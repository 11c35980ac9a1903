/* A module or a kernel of a runtime that has closed is none of the next one's, nor is one of a runtime beside it.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/device.h"

static void check_is_none(const device *d, norn_module module, norn_kernel kernel) {
    norn_launch_desc launch = NORN_LAUNCH_INIT;
    norn_kernel found;
    launch.kernel = kernel;
    CHECK_STATUS(norn_launch(d->rt, &launch, NULL, NULL), NORN_E_INVALID);
    CHECK_SAYS("launch.kernel");
    CHECK_STATUS(norn_kernel_get(d->rt, module, "spin_ns", &found), NORN_E_INVALID);
    CHECK_SAYS("module");
}

int main(void) {
    device before = device_open();
    norn_kernel kernel = device_kernel(&before, "spin_ns");
    device beside = device_open();
    device_kernel(&beside, "spin_ns");
    check_is_none(&beside, before.module, kernel);
    CHECK_OK(norn_close(before.rt));
    /* It takes the closed one's place, and has as many modules and kernels. */
    device after = device_open();
    device_kernel(&after, "spin_ns");
    check_is_none(&after, before.module, kernel);
    CHECK_OK(norn_close(after.rt));
    CHECK_OK(norn_close(beside.rt));
    return 0;
}
