/* The small values have a fixed size for ever. */
#include "check.h"

_Static_assert(sizeof(norn_status) == 4, "norn_status");
_Static_assert(sizeof(norn_token) == 8 && _Alignof(norn_token) == 8, "norn_token");
_Static_assert(sizeof(norn_data) == 8 && _Alignof(norn_data) == 8, "norn_data");
_Static_assert(sizeof(norn_group) == 8 && _Alignof(norn_group) == 8, "norn_group");
_Static_assert(sizeof(norn_place) == 8 && _Alignof(norn_place) == 4, "norn_place");
_Static_assert(sizeof(norn_access) == 24 && _Alignof(norn_access) == 8, "norn_access");
_Static_assert(offsetof(norn_access, slot) == 8 && offsetof(norn_access, mode) == 16 && offsetof(norn_access, flags) == 20, "norn_access");
_Static_assert(offsetof(norn_place, index) == 4, "norn_place");
_Static_assert(offsetof(norn_config, struct_size) == 0 && offsetof(norn_task, struct_size) == 0, "struct_size comes first");
_Static_assert(offsetof(norn_error_info, struct_size) == 0 && offsetof(norn_data_desc, struct_size) == 0, "struct_size comes first");

int main(void) {
    norn_data data = {42};
    CHECK_EQUAL(norn_read(data).mode, NORN_READ);
    CHECK_EQUAL(norn_write(data).mode, NORN_WRITE);
    CHECK_EQUAL(norn_update(data).mode, NORN_READ_WRITE);
    CHECK_EQUAL(norn_commute(data).mode, NORN_COMMUTE);
    CHECK_EQUAL(norn_reduce_into(data).mode, NORN_REDUCE);
    CHECK_EQUAL(norn_read(data).data.id, 42);
    CHECK_EQUAL(norn_read(data).slot, 0);
    CHECK_EQUAL(norn_place_of(NORN_PLACE_CPU, 3).index, 3);
    norn_config config = NORN_CONFIG_INIT;
    CHECK_EQUAL(config.workers, -1);
    CHECK_EQUAL(config.struct_size, sizeof config);
    return 0;
}
