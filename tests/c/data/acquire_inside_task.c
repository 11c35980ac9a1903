/* A body may acquire data that it does not hold itself. */
#include "check.h"

static norn_runtime *rt;
static norn_data mine, other;
static int my_value, other_value;
static int32_t body(norn_self *self, void *arg) {
    norn_access access = norn_update(mine);
    norn_token hold;
    (void)self;
    (void)arg;
    CHECK_STATUS(norn_data_acquire(rt, &access, 1, FOREVER, &hold), NORN_E_WOULD_DEADLOCK);
    access.data = other;
    CHECK_OK(norn_data_acquire(rt, &access, 1, FOREVER, &hold));
    other_value++;
    CHECK_OK(norn_data_release(rt, hold));
    my_value++;
    return 0;
}

int main(void) {
    rt = open_plain();
    mine = DATUM(rt, my_value);
    other = DATUM(rt, other_value);
    for (int i = 0; i < 50; i++) submit_on(rt, body, NULL, norn_update(mine));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(my_value, 50);
    CHECK_EQUAL(other_value, 50);
    CHECK_OK(norn_close(rt));
    return 0;
}
