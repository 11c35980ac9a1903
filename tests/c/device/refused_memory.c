/* Memory that is not what it is said to be is refused at the call: pageable memory as an argument of a kernel or as pinned, a
 * copy onto itself, a run of elements over the rows of a piece, a pointer between them.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/raw.h"

enum { COUNT = 8, ATTRIBUTE_PAGEABLE_ACCESS = 88 };
static uint64_t pageable[COUNT];

static norn_status launch_on(const device *d, norn_data x) {
    uint64_t count = COUNT, key = 3;
    norn_argument arguments[3] = {norn_pointer(x, NORN_READ_WRITE), norn_value(&count, 8), norn_value(&key, 8)};
    norn_launch_desc launch = NORN_LAUNCH_INIT;
    launch.kernel = device_kernel(d, "mix_u64");
    launch.grid[0] = 1;
    launch.block[0] = 64;
    launch.arguments = arguments;
    launch.argument_count = 3;
    return norn_launch(d->rt, &launch, NULL, NULL);
}

/* A pointer into a datum, for a kernel that touches nothing. */
static norn_status launch_at(const device *d, norn_data x, uint64_t offset) {
    uint64_t count = 0, key = 3;
    norn_argument arguments[3] = {norn_pointer(x, NORN_READ), norn_value(&count, 8), norn_value(&key, 8)};
    norn_launch_desc launch = NORN_LAUNCH_INIT;
    arguments[0].offset = offset;
    launch.kernel = device_kernel(d, "mix_u64");
    launch.arguments = arguments;
    launch.argument_count = 3;
    return norn_launch(d->rt, &launch, NULL, NULL);
}

int main(void) {
    device d = device_open();
    uint64_t *memory;
    norn_data host = device_host(&d, pageable, sizeof pageable), pinned = device_pinned(&d, sizeof pageable, &memory);
    int reaches = 0;
    RAW("cuDeviceGetAttribute", (int *, int, int), (&reaches, ATTRIBUTE_PAGEABLE_ACCESS, 0));
    if (!reaches) {
        CHECK_STATUS(launch_on(&d, host), NORN_E_INVALID);
        CHECK_SAYS("arguments[0].data: the datum is ordinary memory of the host");
    }
    CHECK_OK(launch_on(&d, pinned));
    CHECK_OK(norn_drain(d.rt, FOREVER));
    for (uint64_t i = 0; i < COUNT; i++) CHECK(memory[i] == mixed(0, i, 3));

    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data again;
    static uint64_t other[COUNT];
    desc.ptr = other;
    desc.bytes = sizeof other;
    desc.kind = NORN_MEMORY_PINNED;
    CHECK_STATUS(norn_data_register(d.rt, &desc, &again), NORN_E_INVALID);
    CHECK_SAYS("is not pinned");
    raw_context();
    void *foreign;
    RAW("cuMemHostAlloc", (void **, size_t, unsigned), (&foreign, 4096, 0));
    desc.ptr = foreign;
    desc.bytes = 4096;
    CHECK_OK(norn_data_register(d.rt, &desc, &again));
    CHECK_OK(norn_data_unregister(d.rt, again));
    RAW("cuMemFreeHost", (void *), (foreign));
    raw_context_release();

    norn_data x = device_alloc(&d, COUNT * 8), parts[2];
    norn_slice from = norn_slice_of(x, NORN_U64, 5), to = norn_slice_of(x, NORN_U64, 5);
    to.offset = 3;
    CHECK_STATUS(norn_copy(d.rt, &from, &to, NULL, NULL), NORN_E_INVALID);
    CHECK_SAYS("from and to overlap");
    const norn_piece pieces[2] = {{0, 8, 4, 16}, {8, 8, 4, 16}};
    CHECK_OK(norn_data_split(d.rt, x, pieces, 2, parts));
    from = norn_slice_of(host, NORN_U64, 4);
    to = norn_slice_of(parts[1], NORN_U64, 4);
    CHECK_STATUS(norn_copy(d.rt, &from, &to, NULL, NULL), NORN_E_INVALID);
    CHECK_SAYS("leaves the rows");
    to.count = 1;
    to.blocks = 4;
    to.stride = 2;
    CHECK_OK(norn_copy(d.rt, &from, &to, NULL, NULL));
    /* Rows of 8 bytes, 16 apart: from 8 to 15 there is another piece's. */
    CHECK_STATUS(launch_at(&d, parts[0], 8), NORN_E_INVALID);
    CHECK_SAYS("arguments[0].offset 8 leaves the rows");
    CHECK_STATUS(launch_at(&d, parts[0], 47), NORN_E_INVALID);
    CHECK_STATUS(launch_at(&d, parts[0], 57), NORN_E_INVALID);
    CHECK_OK(launch_at(&d, parts[0], 7));
    CHECK_OK(launch_at(&d, parts[0], 16));
    CHECK_OK(launch_at(&d, parts[0], 56));
    CHECK_OK(norn_close(d.rt));
    return 0;
}
