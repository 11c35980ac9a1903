/* Memory that exceeds a ceiling is refused with a text that names it, and what was freed can be had again.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/device.h"

#define MIB ((uint64_t)1 << 20)

int main(void) {
    norn_device_config config = NORN_DEVICE_CONFIG_INIT;
    config.max_bytes = 4 * MIB;
    device d = device_open_with(&config);
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data some, none;
    desc.kind = NORN_MEMORY_DEVICE;
    desc.place = d.place;
    desc.bytes = 3 * MIB;
    for (int round = 0; round < 50; round++) {
        CHECK_OK(norn_data_alloc(d.rt, &desc, &some));
        CHECK_STATUS(norn_data_alloc(d.rt, &desc, &none), NORN_E_RESOURCE);
        CHECK(strstr(norn_last_error(), "max_bytes") != NULL);
        norn_device_info info = NORN_DEVICE_INFO_INIT;
        CHECK_OK(norn_device_get(d.rt, d.place, &info));
        CHECK(info.used_bytes == 3 * MIB);
        CHECK_OK(norn_data_unregister(d.rt, some));
    }
    /* Kind and place must agree, and the place be open. */
    desc.place = norn_place_of(NORN_PLACE_DEVICE, 77);
    CHECK_STATUS(norn_data_alloc(d.rt, &desc, &none), NORN_E_INVALID);
    desc.place = norn_place_of(NORN_PLACE_ANY, 0);
    CHECK_STATUS(norn_data_alloc(d.rt, &desc, &none), NORN_E_INVALID);
    /* The caller's host memory is no device memory. */
    static char memory[64];
    desc.ptr = memory;
    desc.bytes = sizeof memory;
    desc.place = d.place;
    CHECK_STATUS(norn_data_register(d.rt, &desc, &none), NORN_E_INVALID);
    CHECK_OK(norn_close(d.rt));

    norn_config runtime = NORN_CONFIG_INIT;
    runtime.max_pinned_bytes = MIB;
    CHECK_OK(norn_open(&runtime, &d.rt));
    CHECK_OK(norn_device_open(d.rt, NULL, &d.place));
    norn_data_desc pinned = NORN_DATA_DESC_INIT;
    pinned.kind = NORN_MEMORY_PINNED;
    pinned.bytes = MIB;
    CHECK_OK(norn_data_alloc(d.rt, &pinned, &some));
    CHECK_STATUS(norn_data_alloc(d.rt, &pinned, &none), NORN_E_RESOURCE);
    CHECK(strstr(norn_last_error(), "max_pinned_bytes") != NULL);
    CHECK_OK(norn_data_unregister(d.rt, some));
    CHECK_OK(norn_data_alloc(d.rt, &pinned, &some));
    CHECK_OK(norn_close(d.rt));
    return 0;
}
