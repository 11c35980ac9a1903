/* Descriptions of data that make no sense are refused. */
#include "check.h"

static char memory[16];
static void zero(void *copy, uint64_t bytes, void *arg) {
    (void)arg;
    memset(copy, 0, bytes);
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data data = {7};
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    desc.bytes = 8; /* bytes without memory */
    CHECK_STATUS(norn_data_register(rt, &desc, &data), NORN_E_INVALID);
    desc.ptr = memory;
    desc.flags = 1u << 31;
    CHECK_STATUS(norn_data_register(rt, &desc, &data), NORN_E_INVALID);
    desc.flags = 0;
    desc.kind = 99;
    CHECK_STATUS(norn_data_register(rt, &desc, &data), NORN_E_INVALID);
    desc.kind = NORN_MEMORY_DEVICE;
    CHECK_STATUS(norn_data_register(rt, &desc, &data), NORN_E_UNSUPPORTED);
    desc.kind = NORN_MEMORY_HOST;
    desc.place = norn_place_of(55, 0);
    CHECK_STATUS(norn_data_register(rt, &desc, &data), NORN_E_INVALID);
    desc.place = norn_place_of(NORN_PLACE_ANY, 0);
    desc.bytes = UINT64_MAX; /* beyond the address space */
    CHECK_STATUS(norn_data_register(rt, &desc, &data), NORN_E_INVALID);
    desc.bytes = 8;
    /* A reduction needs both of its functions. */
    desc.reduce.identity = zero;
    CHECK_STATUS(norn_data_register(rt, &desc, &data), NORN_E_INVALID);
    CHECK_EQUAL(data.id, 7);
    desc.reduce.identity = NULL;
    CHECK_OK(norn_data_register(rt, &desc, &data));
    CHECK_OK(norn_data_unregister(rt, data));
    /* norn's own memory has no address of ours. */
    CHECK_STATUS(norn_data_alloc(rt, &desc, &data), NORN_E_INVALID);
    desc.ptr = NULL;
    desc.bytes = UINT64_MAX / 2;
    CHECK_ERROR(norn_data_alloc(rt, &desc, &data));
    CHECK_OK(norn_close(rt));
    return 0;
}
