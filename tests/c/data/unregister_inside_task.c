/* A task may register, use and unregister data of its own. */
#include "check.h"

static norn_runtime *rt;
static int32_t set_9(norn_self *self, void *arg) {
    (void)self;
    *(int *)arg = 9;
    return 0;
}
static int32_t body(norn_self *self, void *arg) {
    int local = 0;
    (void)self;
    (void)arg;
    norn_data data = DATUM(rt, local);
    submit_on(rt, set_9, &local, norn_write(data));
    CHECK_OK(norn_data_unregister(rt, data));
    CHECK_EQUAL(local, 9);
    return 0;
}

int main(void) {
    rt = open_plain();
    for (int i = 0; i < 20; i++) submit_run(rt, body, NULL);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(stats_of(rt).data, 0);
    CHECK_OK(norn_close(rt));
    return 0;
}
