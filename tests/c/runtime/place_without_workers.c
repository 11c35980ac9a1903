/* Where bodies run inside calls, a task for CPU 0 or for a NUMA node of the process runs there too. */
#include "check.h"

int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    atomic_int ran = 0;
    /* The node that a worker would be on is one of the process. */
    int32_t node = 0;
    norn_runtime *rt = open_workers(1);
    norn_task task = task_of(body_count, &ran);
    for (;; node++) {
        CHECK(node < 1024);
        task.place = norn_place_of(NORN_PLACE_NUMA, node);
        if (norn_submit(rt, &task, NULL) == NORN_OK) break;
    }
    CHECK_OK(norn_close(rt));
    CHECK_EQUAL(ran, 1);

    const norn_place places[] = {{NORN_PLACE_CPU, 0}, {NORN_PLACE_CPU, -1}, {NORN_PLACE_NUMA, node}};
    const int32_t modes[] = {NORN_MODE_ASYNC, NORN_MODE_SYNC, NORN_MODE_SHUFFLE};
    for (size_t m = 0; m < COUNT_OF(modes); m++) {
        config.mode = modes[m];
        config.workers = 0;
        rt = open_with(&config);
        atomic_store(&ran, 0);
        for (size_t p = 0; p < COUNT_OF(places); p++) {
            task.place = places[p];
            CHECK_OK(norn_await(rt, submit(rt, &task), FOREVER));
        }
        CHECK_EQUAL(ran, COUNT_OF(places));
        task.place = norn_place_of(NORN_PLACE_NUMA, 4000);
        CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_INVALID);
        CHECK_SAYS("4000");
        CHECK_OK(norn_close(rt));
    }
    return 0;
}
