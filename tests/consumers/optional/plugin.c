/* A shared library that uses norn if it is there; it knows nothing of the executable's table. */
#include "expect.h"

norn_status plugin_before_load(void);
void plugin_load_and_use(norn_runtime *rt);

norn_status plugin_before_load(void) { return norn_progress(NULL); }

void plugin_load_and_use(norn_runtime *rt) {
    EXPECT_STATUS(norn_dl_load("/nowhere/libnorn.so.0"), NORN_OK); /* the one in the process is taken */
    two_tasks(rt);
}
