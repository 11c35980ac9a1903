/* A header newer than the library is refused at open, and so is nonsense. */
#include "check.h"

int main(void) {
    norn_runtime *rt = NULL;
    const int32_t refused[] = {NORN_HEADER_VERSION + 1000000, NORN_HEADER_VERSION + 1000, INT32_MAX, -1, INT32_MIN};
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        CHECK_STATUS(norn_open_version(refused[i], NULL, &rt), NORN_E_VERSION);
        CHECK(norn_last_error()[0] != 0);
        CHECK(rt == NULL);
    }
    CHECK_OK(norn_open_version(NORN_HEADER_VERSION, NULL, &rt));
    CHECK_OK(norn_close(rt));
    CHECK_STATUS(norn_open(NULL, NULL), NORN_E_INVALID);
    return 0;
}
