/* loaded [PATH]: the library is found (PATH, or the environment), and all parts of the program use the one norn. */
#include "expect.h"

void in_cxx(norn_runtime *rt);             /* part.cpp, in this executable */
norn_status plugin_before_load(void);      /* plugin.c, a shared library */
void plugin_load_and_use(norn_runtime *rt);

int main(int argc, char **argv) {
    norn_runtime *rt;
    norn_token token = {UINT64_MAX};
    int32_t major = -1, minor = -1, patch = -1;
    EXPECT_STATUS(norn_dl_load(argc > 1 ? argv[1] : NULL), NORN_OK);
    EXPECT(norn_dl_error()[0] == 0);
    EXPECT(norn_dl_missing(0) == NULL);
    EXPECT_STATUS(norn_version(&major, &minor, &patch), NORN_OK);
    EXPECT(major == NORN_VERSION_MAJOR && minor >= 0 && patch >= 0);
    /* Loaded once: a path does not matter any more. */
    EXPECT_STATUS(norn_dl_load("/nowhere/libnorn.so.0"), NORN_OK);

    rt = open_one();
    two_tasks(rt);
    in_cxx(rt);
    /* The shared library has a table of its own, and the same norn behind it. */
    EXPECT_STATUS(plugin_before_load(), NORN_E_UNSUPPORTED);
    plugin_load_and_use(rt);
    /* An error of the library has its own text. */
    EXPECT_STATUS(norn_await(rt, token, 0), NORN_E_INVALID);
    EXPECT(norn_last_error()[0] != 0 && strstr(norn_last_error(), "libnorn") == NULL);
    EXPECT_STATUS(norn_close(rt), NORN_OK);
    return 0;
}
