/* A body that waits for a task which needs the COMMUTE datum it holds is told, not left hanging. */
#include "check.h"

static norn_runtime *rt;
static norn_data data;
static norn_token other, second_gate;
static atomic_int told;
static int32_t holder(norn_self *self, void *arg) {
    (void)arg;
    CHECK_STATUS(norn_await(rt, other, FOREVER), NORN_E_WOULD_DEADLOCK);
    atomic_store(&told, 1);
    CHECK_OK(norn_self_release(self, data));
    CHECK_OK(norn_await(rt, other, FOREVER));
    return 0;
}

/* From another thread: without workers the holder blocks main itself. */
static void *open_second_gate(void *arg) {
    (void)arg;
    WAIT_FOR(told);
    sleep_ms(10);
    CHECK_OK(norn_fulfill(rt, second_gate));
    return NULL;
}

int main(void) {
    rt = open_plain();
    data = pure_name(rt, "d");
    norn_token gate = promised(rt, "gate");
    second_gate = promised(rt, "second gate");
    norn_token token = submit_on_after(rt, holder, NULL, norn_commute(data), gate);
    other = submit_on_after(rt, body_nothing, NULL, norn_commute(data), second_gate);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, open_second_gate, NULL) == 0);
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_await(rt, token, FOREVER));
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_OK(norn_close(rt));
    return 0;
}
