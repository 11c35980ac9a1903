/* A task placed at worker i runs on worker i. */
#include "check.h"

static int32_t check_worker(norn_self *self, void *arg) {
    norn_self_info info = NORN_SELF_INFO_INIT;
    CHECK_OK(norn_self_get(self, &info));
    CHECK_EQUAL(info.worker, *(int *)arg);
    CHECK_EQUAL(info.place.kind, NORN_PLACE_CPU);
    CHECK_EQUAL(info.place.index, *(int *)arg);
    return 0;
}

int main(void) {
    norn_runtime *rt = open_workers(3);
    int numbers[3] = {0, 1, 2};
    for (int i = 0; i < 300; i++) {
        norn_task task = task_of(check_worker, &numbers[i % 3]);
        task.place = norn_place_of(NORN_PLACE_CPU, i % 3);
        submit(rt, &task);
    }
    CHECK_OK(norn_drain(rt, FOREVER));
    norn_task task = task_of(body_nothing, NULL);
    task.place = norn_place_of(NORN_PLACE_CPU, -1); /* any worker */
    CHECK_OK(norn_await(rt, submit(rt, &task), FOREVER));

    const norn_place none[] = {{NORN_PLACE_CPU, 3}, {NORN_PLACE_CPU, -2}, {NORN_PLACE_NUMA, 4711}, {NORN_PLACE_NUMA, -1}, {-1, 0}, {6, 0}};
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        task.place = none[i];
        CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_INVALID);
    }
    task.place = norn_place_of(NORN_PLACE_DEVICE, 0); /* none is open */
    CHECK_ERROR(norn_submit(rt, &task, NULL));
    task.place = norn_place_of(NORN_PLACE_MPI, 0); /* no MPI here */
    CHECK_ERROR(norn_submit(rt, &task, NULL));
    task.run = NULL; /* device bodies need a device */
    task.place = norn_place_of(NORN_PLACE_ANY, 0);
    task.enqueue = (norn_enqueue_fn)(void (*)(void))body_nothing;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_UNSUPPORTED);
    CHECK_OK(norn_close(rt));
    return 0;
}
