/* Readers of one datum run at the same time. */
#include "check.h"

static atomic_int inside;
static int32_t meet(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    atomic_fetch_add(&inside, 1);
    WAIT_FOR(inside == 2);
    return 0;
}

int main(void) {
    norn_runtime *rt = open_workers(2);
    int value = 0;
    norn_data data = DATUM(rt, value);
    submit_on(rt, body_nothing, NULL, norn_write(data));
    submit_on(rt, meet, NULL, norn_read(data));
    submit_on(rt, meet, NULL, norn_read(data));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
