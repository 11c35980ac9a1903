/* refused STATUS TEXT PATH [GOOD]: the load of PATH ends so, with TEXT in the reason; GOOD can be loaded afterwards.
 * EMPTY stands for an empty path, which CMake would drop. */
#include "expect.h"

int main(int argc, char **argv) {
    const char *path;
    EXPECT(argc >= 4);
    path = strcmp(argv[3], "EMPTY") == 0 ? "" : argv[3];
    EXPECT(strcmp(norn_status_name(norn_dl_load(path)), argv[1]) == 0);
    EXPECT(strstr(norn_dl_error(), argv[2]) != NULL);
    EXPECT(strstr(norn_dl_error(), path) != NULL);
    EXPECT_STATUS(norn_progress(NULL), NORN_E_UNSUPPORTED);
    EXPECT(strstr(norn_dl_error(), argv[2]) != NULL); /* a call does not change it */
    if (argc > 4) {
        norn_runtime *rt;
        EXPECT_STATUS(norn_dl_load(argv[4]), NORN_OK);
        EXPECT(norn_dl_error()[0] == 0);
        EXPECT(norn_last_error()[0] == 0);
        rt = open_one();
        two_tasks(rt);
        EXPECT_STATUS(norn_close(rt), NORN_OK);
    }
    return 0;
}
