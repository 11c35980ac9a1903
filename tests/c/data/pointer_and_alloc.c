/* norn's own memory is aligned and zeroed; norn_data_pointer knows every datum's address and length. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    const int32_t kinds[] = {NORN_MEMORY_HOST};
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        for (uint64_t bytes = 1; bytes < 10000000; bytes = bytes * 7 + 3) {
            norn_data_desc desc = NORN_DATA_DESC_INIT;
            norn_data data;
            void *ptr = NULL;
            uint64_t got = 0;
            desc.bytes = bytes;
            desc.kind = kinds[k];
            CHECK_OK(norn_data_alloc(rt, &desc, &data));
            CHECK_OK(norn_data_pointer(rt, data, &ptr, &got));
            CHECK_EQUAL(got, bytes);
            CHECK(ptr != NULL && (uintptr_t)ptr % 64 == 0);
            for (uint64_t i = 0; i < bytes; i++) CHECK_EQUAL(((unsigned char *)ptr)[i], 0);
            memset(ptr, 0xff, bytes);
            CHECK_OK(norn_data_pointer(rt, data, NULL, NULL));
            if (bytes % 2) CHECK_OK(norn_data_unregister(rt, data)); /* the others are freed by the close */
        }
    int value;
    void *ptr = NULL;
    uint64_t bytes = 1;
    norn_data mine = DATUM(rt, value), name = pure_name(rt, "name");
    CHECK_OK(norn_data_pointer(rt, mine, &ptr, &bytes));
    CHECK(ptr == &value);
    CHECK_EQUAL(bytes, sizeof value);
    CHECK_OK(norn_data_pointer(rt, name, &ptr, &bytes));
    CHECK(ptr == NULL);
    CHECK_EQUAL(bytes, 0);
    CHECK_OK(norn_close(rt));
    return 0;
}
