// A C++ translation unit of the executable whose C part called norn_dl_load: it shares the table.
#include "expect.h"

extern "C" void in_cxx(norn_runtime *rt);
extern "C" void in_cxx(norn_runtime *rt) {
    two_tasks(rt);
    norn_status (*close_of_cxx)(norn_runtime *) = norn_close; // it has an address, as a function has
    EXPECT_STATUS(close_of_cxx(nullptr), NORN_E_INVALID);
}
