// with_layer PATH: the C++ layer over norn_dl.h, without a linked library: an exception before the load, work after it.
#include "expect.h"

#include <exception>
#include <norn.hpp>

int main(int argc, char **argv) {
    EXPECT(argc == 2);
    try {
        norn::runtime none;
        return 1;
    } catch (const std::exception &reason) {
        EXPECT(strstr(reason.what(), "no libnorn is loaded") != nullptr);
    }
    EXPECT_STATUS(norn_dl_load(argv[1]), NORN_OK);
    norn::runtime rt;
    EXPECT(rt.submit([] { return 42; }).get() == 42);
    return 0;
}
