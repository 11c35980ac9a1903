/* A reader behind a place that is given up does not pass the COMMUTE access before it, also where that stands behind
   another place that was given up. */
#include "check.h"

static atomic_int committed;

static int32_t commits(norn_self *self, void *arg) {
    (void)self, (void)arg;
    committed = 1;
    return 0;
}

static int32_t reads(norn_self *self, void *arg) {
    (void)self, (void)arg;
    CHECK(committed);
    return 0;
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data datum = pure_name(rt, "datum");
    norn_access read = norn_read(datum), update = norn_update(datum);
    norn_access commute = {.data = datum, .mode = NORN_COMMUTE};
    uint64_t reader, first, second;
    CHECK_OK(norn_reserve(rt, &read, 1, &reader));
    CHECK_OK(norn_reserve(rt, &update, 1, &first));
    norn_token member = submit_on(rt, commits, NULL, commute);
    CHECK_OK(norn_reserve_abandon(rt, first));
    CHECK_OK(norn_reserve(rt, &update, 1, &second));
    norn_token last = submit_on(rt, reads, NULL, read);
    CHECK_OK(norn_reserve_abandon(rt, second));

    /* The first place waits for a reader that is missing, and so everything does. */
    CHECK_STATUS(norn_await(rt, last, 20 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_OK(norn_reserve_abandon(rt, reader));
    CHECK_OK(norn_await(rt, last, FOREVER));
    CHECK_OK(norn_await(rt, member, FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
