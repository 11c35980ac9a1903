/* Memory that is not what its description says is refused: when it is registered, when a datum gets it, in a slice.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/raw.h"

#define BYTES 4096

int main(void) {
    device d = device_open();
    raw_context();
    uint64_t on_device, managed;
    RAW("cuMemAlloc_v2", (uint64_t *, size_t), (&on_device, BYTES));
    RAW("cuMemAllocManaged", (uint64_t *, size_t, unsigned), (&managed, BYTES, 1));
    static _Alignas(8) char ordinary[BYTES];
    norn_data data;

    /* Memory of a device under the default description, which is the host's. */
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    desc.ptr = (void *)on_device, desc.bytes = BYTES;
    CHECK_STATUS(norn_data_register(d.rt, &desc, &data), NORN_E_INVALID);
    CHECK_SAYS("desc.ptr");
    /* The host uses managed memory as well. */
    desc.ptr = (void *)managed;
    CHECK_OK(norn_data_register(d.rt, &desc, &data));
    CHECK_OK(norn_data_unregister(d.rt, data));
    /* More than there is. */
    desc.ptr = (void *)on_device, desc.kind = NORN_MEMORY_DEVICE, desc.place = d.place, desc.bytes = (uint64_t)1 << 46;
    CHECK_STATUS(norn_data_register(d.rt, &desc, &data), NORN_E_INVALID);
    CHECK_SAYS("the last byte");

    /* A datum of a device stays one, and keeps its memory when what it would get is refused. */
    desc.bytes = BYTES;
    CHECK_OK(norn_data_register(d.rt, &desc, &data));
    CHECK_STATUS(norn_data_rebind(d.rt, data, ordinary, BYTES), NORN_E_INVALID);
    CHECK_SAYS("ptr 0x");
    CHECK_STATUS(norn_data_rebind(d.rt, data, (void *)on_device, (uint64_t)1 << 46), NORN_E_INVALID);
    CHECK_SAYS("the last byte");
    void *pointer;
    uint64_t bytes;
    CHECK_OK(norn_data_pointer(d.rt, data, &pointer, &bytes));
    CHECK(pointer == (void *)on_device && bytes == BYTES);
    CHECK_OK(norn_data_rebind(d.rt, data, (void *)on_device, BYTES / 2));
    CHECK_OK(norn_data_unregister(d.rt, data));
    /* And one of the host does. */
    norn_data_desc host = NORN_DATA_DESC_INIT;
    host.ptr = ordinary, host.bytes = BYTES;
    CHECK_OK(norn_data_register(d.rt, &host, &data));
    CHECK_STATUS(norn_data_rebind(d.rt, data, (void *)on_device, BYTES), NORN_E_INVALID);
    CHECK_SAYS("ptr 0x");
    CHECK_OK(norn_data_unregister(d.rt, data));

    /* Memory for MPI, on the device and on the host. */
    norn_data for_mpi[2];
    norn_token copied;
    norn_data_desc shared = NORN_DATA_DESC_INIT;
    shared.bytes = BYTES, shared.kind = NORN_MEMORY_MPI;
    CHECK_OK(norn_data_alloc(d.rt, &shared, &for_mpi[1]));
    shared.place = d.place;
    CHECK_OK(norn_data_alloc(d.rt, &shared, &for_mpi[0]));
    CHECK_OK(norn_data_pointer(d.rt, for_mpi[1], &pointer, NULL));
    for (uint64_t i = 0; i < BYTES / 8; i++) ((uint64_t *)pointer)[i] = 3 * i;
    device_copy(&d, for_mpi[1], for_mpi[0], BYTES / 8);
    norn_slice into = norn_slice_at(ordinary, NORN_U64, BYTES / 8), all = norn_slice_of(for_mpi[0], NORN_U64, BYTES / 8);
    CHECK_OK(norn_copy(d.rt, &all, &into, NULL, &copied));
    CHECK_OK(norn_await(d.rt, copied, FOREVER));
    CHECK(memcmp(ordinary, pointer, BYTES) == 0);
    for (int i = 0; i < 2; i++) CHECK_OK(norn_data_unregister(d.rt, for_mpi[i]));

    /* A slice lies on a device or on the host. */
    norn_slice from = norn_slice_at(ordinary, NORN_U8, 8), to = norn_slice_at(ordinary + 8, NORN_U8, 8);
    const int32_t kinds[] = {NORN_PLACE_OPENER, NORN_PLACE_MPI, 6, 99, -1};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        to.place.kind = kinds[i];
        CHECK_STATUS(norn_copy(d.rt, &from, &to, NULL, NULL), NORN_E_INVALID);
        CHECK_SAYS("to.place.kind");
    }
    RAW("cuMemFree_v2", (uint64_t), (on_device));
    RAW("cuMemFree_v2", (uint64_t), (managed));
    raw_context_release();
    CHECK_OK(norn_close(d.rt));
    return 0;
}
