/* older PATH: a library without norn_eventfd and norn_reserve serves everything else and says what it lacks. */
#include "expect.h"

int main(int argc, char **argv) {
    norn_runtime *rt;
    norn_token token = {0};
    int32_t fd = -1;
    uint64_t slot = 0;
    EXPECT(argc == 2);
    EXPECT_STATUS(norn_dl_load(argv[1]), NORN_OK);
    EXPECT(strcmp(norn_dl_missing(0), "norn_reserve") == 0);
    EXPECT(strcmp(norn_dl_missing(1), "norn_eventfd") == 0);
    EXPECT(norn_dl_missing(2) == NULL);

    rt = open_one();
    two_tasks(rt);
    EXPECT_STATUS(norn_eventfd(rt, token, &fd), NORN_E_UNSUPPORTED);
    EXPECT(fd == -1);
    EXPECT(strcmp(norn_last_error(), "norn_eventfd: the libnorn that is loaded has no such function") == 0);
    EXPECT_STATUS(norn_reserve(rt, NULL, 0, &slot), NORN_E_UNSUPPORTED);
    EXPECT(strncmp(norn_last_error(), "norn_reserve: ", 14) == 0);
    /* A later error of the library takes its place. */
    EXPECT_STATUS(norn_seal(NULL), NORN_E_INVALID);
    EXPECT(strstr(norn_last_error(), "norn_reserve") == NULL);
    EXPECT_STATUS(norn_close(rt), NORN_OK);
    return 0;
}
