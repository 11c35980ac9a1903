/* ancient PATH: a library that refuses newer headers, as libnorn does, is told its own version at open. */
#include "expect.h"

int main(int argc, char **argv) {
    norn_runtime *rt = NULL;
    int missing = 0;
    EXPECT(argc == 2);
    EXPECT_STATUS(norn_dl_load(argv[1]), NORN_OK);
    while (norn_dl_missing((uint32_t)missing) != NULL) missing++;
    EXPECT(missing > 40);
    EXPECT_STATUS(norn_open(NULL, &rt), NORN_OK);
    /* Another version than the header's is the caller's own affair. */
    EXPECT_STATUS(norn_open_version(NORN_HEADER_VERSION + 1, NULL, &rt), NORN_E_VERSION);
    EXPECT_STATUS(norn_close(rt), NORN_OK);
    return 0;
}
