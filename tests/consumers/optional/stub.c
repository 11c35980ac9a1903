/* A libnorn of another version (STUB_MAJOR, STUB_MINOR), of which the first calls exist. */
#include <norn.h>

norn_status norn_version(int32_t *major, int32_t *minor, int32_t *patch) {
    *major = STUB_MAJOR;
    *minor = STUB_MINOR;
    *patch = 0;
    return NORN_OK;
}

norn_status norn_open_version(int32_t header_version, const norn_config *config, norn_runtime **rt) {
    (void)config;
    (void)rt;
    return header_version > STUB_MAJOR * 1000000 + STUB_MINOR * 1000 ? NORN_E_VERSION : NORN_OK;
}

norn_status norn_close(norn_runtime *rt) {
    (void)rt;
    return NORN_OK;
}
