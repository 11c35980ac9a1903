/* norn_data_unregister returns after the last access so far; the memory may be freed then. */
#include "check.h"

static int32_t touch_slowly(norn_self *self, void *arg) {
    volatile int *value = *(int **)arg;
    (void)self;
    for (int i = 0; i < 5; i++) {
        value[i]++;
        sleep_ms(1);
    }
    return 0;
}
static norn_runtime *rt;
static norn_data held;
static int32_t unregister_mine(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    CHECK_STATUS(norn_data_unregister(rt, held), NORN_E_WOULD_DEADLOCK);
    return 0;
}
static void *fulfil_later(void *arg) {
    sleep_ms(30);
    CHECK_OK(norn_fulfill(rt, *(norn_token *)arg));
    return NULL;
}

int main(void) {
    rt = open_plain();
    for (int round = 0; round < 10; round++) {
        int *values = calloc(5, sizeof *values);
        norn_data data = datum_of(rt, values, 5 * sizeof *values, "short-lived");
        submit_on(rt, touch_slowly, &values, norn_write(data));
        submit_on(rt, touch_slowly, &values, norn_update(data));
        CHECK_OK(norn_data_unregister(rt, data));
        for (int i = 0; i < 5; i++) CHECK_EQUAL(values[i], 2);
        free(values);
        values = NULL;
        CHECK_STATUS(norn_data_unregister(rt, data), NORN_E_INVALID);
        CHECK_STATUS(norn_data_pointer(rt, data, NULL, NULL), NORN_E_INVALID);
    }
    CHECK_EQUAL(stats_of(rt).data, 0);

    /* Inside a task that holds it. */
    int value = 0;
    held = DATUM(rt, value);
    CHECK_OK(norn_await(rt, submit_on(rt, unregister_mine, NULL, norn_read(held)), FOREVER));

    /* Behind a promise that another thread fulfils. */
    norn_token gate = promised(rt, "gate");
    norn_token last = submit_on_after(rt, body_nothing, NULL, norn_write(held), gate);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, fulfil_later, &gate) == 0);
    CHECK_OK(norn_data_unregister(rt, held));
    CHECK_OK(norn_await(rt, last, 0));
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_OK(norn_close(rt));
    return 0;
}
