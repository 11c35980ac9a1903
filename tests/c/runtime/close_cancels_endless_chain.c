/* Bodies that submit their successors for ever: a close with NORN_CANCEL refuses the next and ends. */
#include "check.h"

static norn_runtime *rt;
static atomic_int ran, refused, cleaned;

static int32_t cleans(norn_self *self, void *arg) {
    (void)self, (void)arg;
    atomic_fetch_add(&cleaned, 1);
    return 0;
}

static int32_t goes_on(norn_self *self, void *arg) {
    (void)self;
    atomic_fetch_add(&ran, 1);
    norn_task next = task_of(goes_on, arg);
    norn_status status = norn_submit(rt, &next, NULL);
    if (status == NORN_OK) return 0;
    CHECK_STATUS(status, NORN_E_CLOSED);
    next = task_of(cleans, NULL);
    next.flags = NORN_RUN_ALWAYS;
    CHECK_OK(norn_submit(rt, &next, NULL));
    atomic_fetch_add(&refused, 1);
    return 0;
}

int main(void) {
    rt = open_plain();
    for (int i = 0; i < 4; i++) submit_run(rt, goes_on, NULL);
    while (ran < 100) CHECK_OK(norn_progress(rt));
    norn_close_with(rt, NORN_CANCEL, FOREVER);
    CHECK_EQUAL(cleaned, refused);
    CHECK_STATUS(norn_progress(rt), NORN_E_INVALID);
    return 0;
}
