/* Memory for MPI on the host needs no device: norn allocates it, and takes the caller's. */
#include "check.h"

static int32_t fill(norn_self *self, void *arg) {
    (void)self;
    memset(arg, 7, 1000);
    return 0;
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data data;
    void *memory = NULL;
    uint64_t bytes = 0;
    static unsigned char own[1000];
    desc.kind = NORN_MEMORY_MPI;
    desc.bytes = 1000;
    CHECK_OK(norn_data_alloc(rt, &desc, &data));
    CHECK_OK(norn_data_pointer(rt, data, &memory, &bytes));
    CHECK(memory != NULL && bytes == 1000);
    for (int i = 0; i < 1000; i++) CHECK(((unsigned char *)memory)[i] == 0);
    CHECK_OK(norn_await(rt, submit_on(rt, fill, memory, norn_write(data)), FOREVER));
    CHECK(((unsigned char *)memory)[999] == 7);
    CHECK_OK(norn_data_unregister(rt, data));
    desc.ptr = own;
    CHECK_OK(norn_data_register(rt, &desc, &data));
    CHECK_OK(norn_await(rt, submit_on(rt, fill, own, norn_write(data)), FOREVER));
    CHECK_OK(norn_data_unregister(rt, data));
    /* On a device it is the device's. */
    desc.ptr = NULL;
    desc.place = norn_place_of(NORN_PLACE_DEVICE, 0);
    CHECK_STATUS(norn_data_alloc(rt, &desc, &data), NORN_E_UNSUPPORTED);
    CHECK_OK(norn_close(rt));
    return 0;
}
