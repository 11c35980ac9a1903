/* A kernel is not given a datum of another device, which it could not reach: norn opens no access between devices.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/device.h"

int main(void) {
    norn_device_config config = NORN_DEVICE_CONFIG_INIT;
    config.select = NORN_DEVICE_ORDINAL;
    device d = device_open_with(&config), other = d;
    config.ordinal = 1;
    norn_status second = norn_device_open(other.rt, &config, &other.place);
    if (second == NORN_E_INVALID) {
        printf("skipped: %s\n", norn_last_error());
        CHECK_OK(norn_close(d.rt));
        return SKIPPED;
    }
    CHECK_OK(second);
    device_load_kernels(&d);
    norn_data here = device_alloc(&d, 64), there = device_alloc(&other, 64);
    uint64_t count = 8, key = 1;
    norn_argument arguments[3] = {norn_pointer(there, NORN_READ_WRITE), norn_value(&count, 8), norn_value(&key, 8)};
    norn_launch_desc launch = NORN_LAUNCH_INIT;
    launch.kernel = device_kernel(&d, "mix_u64");
    launch.arguments = arguments;
    launch.argument_count = 3;
    CHECK_STATUS(norn_launch(d.rt, &launch, NULL, NULL), NORN_E_INVALID);
    CHECK_SAYS("arguments[0].data");
    CHECK_SAYS("device 1");
    arguments[0] = norn_pointer(here, NORN_READ_WRITE);
    CHECK_OK(norn_launch(d.rt, &launch, NULL, NULL));
    CHECK_OK(norn_close(d.rt));
    return 0;
}
