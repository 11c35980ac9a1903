/* A close of a shared runtime that timed out has closed nothing: an open gives the same one, counted beside the first,
   and it takes nothing from outside any more. */
#include "check.h"

static int32_t body_holds(norn_self *self, void *arg) {
    (void)arg;
    return norn_self_hold(self, 1);
}

int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    config.flags = NORN_SHARED;
    norn_runtime *first = open_with(&config);
    norn_token holding = submit_run(first, body_holds, NULL);
    CHECK_STATUS(norn_close_with(first, NORN_DRAIN, MILLISECOND), NORN_E_TIMEOUT);

    norn_runtime *second = open_with(&config);
    CHECK(second == first);
    norn_task task = task_of(body_nothing, NULL);
    CHECK_STATUS(norn_submit(second, &task, NULL), NORN_E_CLOSED);
    CHECK_OK(norn_unhold(second, holding, 1));
    CHECK_OK(norn_close(second));
    CHECK_OK(norn_close(first));
    CHECK_STATUS(norn_close(first), NORN_E_INVALID);

    norn_runtime *third = open_with(&config); /* a new one, open to all */
    CHECK_OK(norn_await(third, submit_run(third, body_nothing, NULL), FOREVER));
    CHECK_OK(norn_close(third));
    return 0;
}
