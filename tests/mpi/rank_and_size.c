/* For handles.f90: what norn knows of a world. */
#include <norn.h>

int32_t rank_and_size(norn_world *world, int32_t *rank, int32_t *size);
int32_t rank_and_size(norn_world *world, int32_t *rank, int32_t *size) {
    norn_world_info info = NORN_WORLD_INFO_INIT;
    norn_status status = norn_world_get(world, &info);
    *rank = info.rank;
    *size = info.size;
    return status;
}
