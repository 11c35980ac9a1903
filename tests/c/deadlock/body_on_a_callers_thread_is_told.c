/* A body that awaits a promise nobody keeps, on the thread that closes or drains the runtime: the close ends the promise, and
   after a seal the await or the drain says that it is a deadlock. Nothing hangs. */
#include "check.h"

static norn_runtime *rt;
static norn_token promise;
static norn_status heard;

static int32_t awaits(norn_self *self, void *arg) {
    (void)self, (void)arg;
    heard = norn_await(rt, promise, FOREVER);
    return 0;
}

static void open_with_body(int32_t place, int32_t workers, uint64_t flags) {
    norn_config config = NORN_CONFIG_INIT;
    config.workers = workers;
    config.flags = flags;
    rt = open_with(&config);
    promise = promised(rt, "promise");
    norn_task task = task_of(awaits, NULL);
    task.place.kind = place;
    submit(rt, &task);
}

int main(void) {
    const int32_t places[] = {NORN_PLACE_ANY, NORN_PLACE_OPENER};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        for (uint64_t flags = 0; flags <= NORN_CALLER_WORKS; flags += NORN_CALLER_WORKS) {
            open_with_body(places[i], 2, flags);
            CHECK_OK(norn_close(rt));
            CHECK_EQUAL(heard, NORN_E_CLOSED);

            open_with_body(places[i], 2, flags);
            CHECK_OK(norn_seal(rt));
            norn_status drained = norn_drain(rt, FOREVER);
            CHECK(drained == NORN_E_DEADLOCK || (drained == NORN_OK && heard == NORN_E_DEADLOCK));
            CHECK_OK(norn_close(rt));
            CHECK(heard == NORN_E_DEADLOCK || heard == NORN_E_CLOSED);

            /* A pass may run the body too. */
            open_with_body(places[i], 2, flags);
            CHECK_OK(norn_seal(rt));
            CHECK_OK(norn_progress(rt));
            CHECK_OK(norn_close(rt));
            CHECK(heard == NORN_E_DEADLOCK || heard == NORN_E_CLOSED);
        }
    }
    return 0;
}
