/* A body that awaits any of two tasks, which both wait for the body, is a ring that only the close ends: it cancels what the
   body awaits. Cleanup, and what is only ordered behind the ring by a datum, still run, also where as many callbacks come
   up as tasks end. (One of the two is enough: once the body has ended, the other may run before the close comes to it.) */
#include "check.h"

static norn_runtime *rt;
static norn_data datum;
static atomic_int cleaned, wrote, woken, told;

static void tell(void *arg, norn_token token, norn_status status) {
    (void)arg, (void)token, (void)status;
    told++;
}

static int32_t awaits_its_successors(norn_self *self, void *arg) {
    (void)arg;
    norn_self_info info = NORN_SELF_INFO_INIT;
    CHECK_OK(norn_self_get(self, &info));
    norn_token behind[2];
    for (size_t i = 0; i < COUNT_OF(behind); i++) {
        behind[i] = submit_on_after(rt, body_nothing, NULL, norn_write(datum), info.token);
        CHECK_OK(norn_on_complete(rt, behind[i], tell, NULL));
    }
    norn_task cleanup = task_of(body_count, &cleaned);
    cleanup.after = &behind[1];
    cleanup.after_count = 1;
    cleanup.flags = NORN_RUN_ALWAYS;
    submit(rt, &cleanup);
    submit_on(rt, body_count, &wrote, norn_write(datum));
    uint64_t index;
    CHECK_STATUS(norn_await_any(rt, behind, COUNT_OF(behind), FOREVER, &index), NORN_E_CANCELLED);
    woken = 1;
    return 0;
}

int main(void) {
    rt = open_plain();
    datum = pure_name(rt, "datum");
    submit_run(rt, awaits_its_successors, NULL);
    CHECK_OK(norn_close(rt));
    CHECK_EQUAL(woken, 1);
    CHECK_EQUAL(cleaned, 1);
    CHECK_EQUAL(wrote, 1);
    CHECK_EQUAL(told, 2);
    return 0;
}
