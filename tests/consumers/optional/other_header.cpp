// Compiled with a copy of norn_dl.h that says it is of another version.
#include "expect.h"

extern "C" norn_status other_before_load(void);
extern "C" void other_load_and_use(const char *path, norn_runtime *rt);

extern "C" norn_status other_before_load(void) { return norn_progress(nullptr); }

extern "C" void other_load_and_use(const char *path, norn_runtime *rt) {
    EXPECT_STATUS(norn_dl_load(path), NORN_OK);
    two_tasks(rt);
}
