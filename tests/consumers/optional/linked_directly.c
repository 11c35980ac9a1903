/* Calls norn without a detour. */
#include <norn.h>

norn_runtime *open_directly(void);

norn_runtime *open_directly(void) {
    norn_config config = NORN_CONFIG_INIT;
    norn_runtime *rt;
    config.workers = 1;
    return norn_open(&config, &rt) == NORN_OK ? rt : NULL;
}
