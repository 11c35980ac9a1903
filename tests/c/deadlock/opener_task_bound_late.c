/* A body on the opener's stack awaits a declared token: its task cannot be one for the opener. */
#include "check.h"

static norn_runtime *rt;
static norn_token later;
static atomic_int ran;

static int32_t count(norn_self *self, void *arg) {
    (void)self, (void)arg;
    atomic_fetch_add(&ran, 1);
    return 0;
}

static int32_t binds(norn_self *self, void *arg) {
    (void)self, (void)arg;
    sleep_ms(50); /* the other body is in its await by now */
    norn_task task = task_of(count, NULL);
    task.as = later;
    task.place = norn_place_of(NORN_PLACE_OPENER, 0);
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_DEADLOCK);
    CHECK_SAYS("waits");
    task.place = norn_place_of(NORN_PLACE_ANY, 0);
    CHECK_OK(norn_submit(rt, &task, NULL));
    return 0;
}

static int32_t waits(norn_self *self, void *arg) {
    (void)self, (void)arg;
    submit_run(rt, binds, NULL);
    CHECK_OK(norn_await(rt, later, FOREVER));
    return 0;
}

int main(void) {
    rt = open_plain();
    CHECK_OK(norn_declare(rt, "later", &later));
    norn_task task = task_of(waits, NULL);
    task.place = norn_place_of(NORN_PLACE_OPENER, 0);
    task.name = "waits";
    submit(rt, &task);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(ran, 1);
    CHECK_OK(norn_close(rt));
    return 0;
}
