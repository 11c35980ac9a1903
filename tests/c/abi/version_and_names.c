/* The library says its version, and every status has a name. */
#include "check.h"

int main(void) {
    int32_t major = -1, minor = -1, patch = -1;
    CHECK_OK(norn_version(&major, &minor, &patch));
    CHECK_EQUAL(major, NORN_VERSION_MAJOR);
    CHECK(minor > NORN_VERSION_MINOR || (minor == NORN_VERSION_MINOR && patch >= NORN_VERSION_PATCH));
    CHECK_OK(norn_version(NULL, NULL, NULL));

    const struct {
        norn_status status;
        const char *name;
    } all[] = {
#define NAMED(status) {status, #status}
        NAMED(NORN_OK),          NAMED(NORN_E_INVALID),    NAMED(NORN_E_STATE),       NAMED(NORN_E_OVERLAP),     NAMED(NORN_E_UNCOVERED),
        NAMED(NORN_E_VERSION),   NAMED(NORN_E_CONFIG),     NAMED(NORN_E_THREAD),      NAMED(NORN_E_RESOURCE),    NAMED(NORN_E_MEMORY),
        NAMED(NORN_E_UNSUPPORTED), NAMED(NORN_E_FORKED),   NAMED(NORN_E_CLOSED),      NAMED(NORN_E_SYSTEM),      NAMED(NORN_E_TIMEOUT),
        NAMED(NORN_E_WOULD_DEADLOCK), NAMED(NORN_E_DEADLOCK), NAMED(NORN_E_TOO_LATE), NAMED(NORN_E_TASK_FAILED), NAMED(NORN_E_PROPAGATED),
        NAMED(NORN_E_CANCELLED), NAMED(NORN_E_ORDER),      NAMED(NORN_E_TAGS),        NAMED(NORN_E_MPI),         NAMED(NORN_E_MISMATCH),
        NAMED(NORN_E_DEVICE),    NAMED(NORN_E_INTERNAL),
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        CHECK(strcmp(norn_status_name(all[i].status), all[i].name) == 0);
        for (size_t k = 0; k < i; k++) CHECK(all[k].status != all[i].status);
        CHECK(i == 0 || all[i].status < 0);
    }
    const norn_status strange[] = {1, 7, -10000, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < COUNT_OF(strange); i++) CHECK(norn_status_name(strange[i]) != NULL && norn_status_name(strange[i])[0] != 0);
    return 0;
}
