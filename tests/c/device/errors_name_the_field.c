/* What is refused at the call is named as the caller wrote it: the argument and its field, the field of a slice, the cause.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/device.h"

static device d;
static norn_launch_desc launch = NORN_LAUNCH_INIT;

static void check_argument(norn_argument argument, const char *text) {
    launch.arguments = &argument;
    launch.argument_count = 1;
    CHECK_STATUS(norn_launch(d.rt, &launch, NULL, NULL), NORN_E_INVALID);
    CHECK_SAYS(text);
}

int main(void) {
    d = device_open();
    norn_data x = device_alloc(&d, 64);
    uint64_t value = 1;
    launch.kernel = device_kernel(&d, "spin_ns");
    check_argument(norn_value(NULL, 8), "arguments[0].value is NULL");
    check_argument(norn_value(&value, 0), "arguments[0].bytes is 0");
    check_argument(norn_value(&value, 4097), "arguments[0].bytes is 4097");
    check_argument(norn_pointer(x, 99), "arguments[0].mode 99");
    check_argument(norn_pointer(x, NORN_REDUCE), "arguments[0].mode");
    check_argument(norn_pointer(x, -1), "arguments[0].mode -1");

    norn_slice slice = norn_slice_of(x, NORN_U64, 8);
    slice.reserved = 1;
    CHECK_STATUS(norn_fill(d.rt, &slice, &value, NULL, NULL), NORN_E_INVALID);
    CHECK_SAYS("to.reserved");
    slice.reserved = 0;
    slice.flags = 1;
    CHECK_STATUS(norn_fill(d.rt, &slice, &value, NULL, NULL), NORN_E_INVALID);
    CHECK_SAYS("to.flags");

    norn_task neither = NORN_TASK_INIT;
    CHECK_STATUS(norn_submit(d.rt, &neither, NULL), NORN_E_INVALID);
    CHECK_SAYS("task.run and task.enqueue");

    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data none;
    desc.kind = NORN_MEMORY_DEVICE;
    desc.place = d.place;
    desc.bytes = UINT64_MAX;
    CHECK_STATUS(norn_data_alloc(d.rt, &desc, &none), NORN_E_MEMORY);
    CHECK_SAYS("more than can be addressed");
    CHECK_OK(norn_close(d.rt));
    return 0;
}
