/* two_headers PATH: parts compiled with different versions of norn_dl.h are linked into one program. Each has a table
 * of its own, and neither calls through the other's. */
#include "expect.h"

norn_status other_before_load(void); /* other_header.cpp */
void other_load_and_use(const char *path, norn_runtime *rt);
void in_cxx(norn_runtime *rt); /* part.cpp: this version, as C++ */

int main(int argc, char **argv) {
    norn_runtime *rt;
    EXPECT(argc == 2);
    EXPECT_STATUS(norn_dl_load(argv[1]), NORN_OK);
    rt = open_one();
    in_cxx(rt);
    EXPECT_STATUS(other_before_load(), NORN_E_UNSUPPORTED);
    other_load_and_use(argv[1], rt);
    EXPECT_STATUS(norn_close(rt), NORN_OK);
    return 0;
}
