/* A task placed at a NUMA node runs on a worker of it; one domain machines have node 0. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_workers(2);
    atomic_int ran = 0;
    norn_task task = task_of(body_count, &ran);
    task.place = norn_place_of(NORN_PLACE_NUMA, 0);
    norn_status status = NORN_OK;
    for (int i = 0; i < 100 && status == NORN_OK; i++) status = norn_submit(rt, &task, NULL);
    /* A mask that leaves node 0 out has no worker there. */
    CHECK(status == NORN_OK || status == NORN_E_INVALID);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(ran, status == NORN_OK ? 100 : 0);
    CHECK_OK(norn_close(rt));
    return 0;
}
