/* An acquire of several data that times out on one gives up its places in all: the others are free at once, and
 * one that fails says nothing about the others. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data busy = pure_name(rt, "busy"), idle = pure_name(rt, "idle");
    norn_access both[2] = {norn_update(busy), norn_update(idle)};
    norn_token hold, second;
    CHECK_OK(norn_data_acquire(rt, &both[0], 1, FOREVER, &hold));
    for (int i = 0; i < 100; i++) CHECK_STATUS(norn_data_acquire(rt, both, 2, 0, &second), NORN_E_TIMEOUT);
    CHECK_OK(norn_data_acquire(rt, &both[1], 1, FOREVER, &second));
    CHECK_OK(norn_data_release(rt, second));
    CHECK_OK(norn_data_release(rt, hold));

    norn_token failed = submit_on(rt, body_fail, NULL, norn_write(busy));
    CHECK_STATUS(norn_data_acquire(rt, both, 2, FOREVER, &hold), NORN_E_PROPAGATED);
    CHECK_STATUS(norn_await(rt, failed, FOREVER), NORN_E_TASK_FAILED);
    CHECK_OK(norn_await(rt, submit_on(rt, body_nothing, NULL, norn_read(idle)), FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
