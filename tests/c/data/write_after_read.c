/* A writer waits for the readers of the version before it. */
#include "check.h"

enum { ROUNDS = 1000 };
static int value, inputs[ROUNDS], outputs[ROUNDS];
static int32_t store(norn_self *self, void *arg) {
    (void)self;
    value = *(int *)arg;
    return 0;
}
static int32_t load(norn_self *self, void *arg) {
    (void)self;
    sleep_ns(50000);
    *(int *)arg = value;
    return 0;
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data data = DATUM(rt, value);
    for (int i = 0; i < ROUNDS; i++) {
        inputs[i] = i;
        submit_on(rt, store, &inputs[i], norn_write(data));
        submit_on(rt, load, &outputs[i], norn_read(data));
    }
    CHECK_OK(norn_drain(rt, FOREVER));
    for (int i = 0; i < ROUNDS; i++) CHECK_EQUAL(outputs[i], i);
    CHECK_OK(norn_close(rt));
    return 0;
}
