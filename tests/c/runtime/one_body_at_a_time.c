/* In the one-thread modes never two bodies run at once, although bodies block and several threads wait. */
#include "check.h"

static norn_runtime *rt;
static atomic_int inside, ran;
static int32_t leaf(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    CHECK_EQUAL(atomic_fetch_add(&inside, 1), 0);
    sleep_ns(20000);
    CHECK_EQUAL(atomic_fetch_sub(&inside, 1), 1);
    atomic_fetch_add(&ran, 1);
    return 0;
}
static int32_t waiter(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    for (int i = 0; i < 3; i++) {
        norn_token token = submit_run(rt, leaf, NULL);
        CHECK_EQUAL(atomic_fetch_add(&inside, 1), 0);
        sleep_ns(20000);
        CHECK_EQUAL(atomic_fetch_sub(&inside, 1), 1);
        CHECK_OK(norn_await(rt, token, FOREVER));
    }
    return 0;
}
static void *application(void *arg) {
    (void)arg;
    for (int i = 0; i < 20; i++) CHECK_OK(norn_await(rt, submit_run(rt, i % 2 ? leaf : waiter, NULL), FOREVER));
    return NULL;
}

int main(void) {
    const int32_t modes[] = {NORN_MODE_SYNC, NORN_MODE_SHUFFLE};
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        norn_config config = NORN_CONFIG_INIT;
        config.mode = modes[i];
        config.seed = 5;
        rt = open_with(&config);
        atomic_store(&ran, 0);
        pthread_t threads[4];
        for (int k = 0; k < 4; k++) CHECK(pthread_create(&threads[k], NULL, application, NULL) == 0);
        for (int k = 0; k < 4; k++) CHECK(pthread_join(threads[k], NULL) == 0);
        CHECK_EQUAL(ran, 4 * (10 + 10 * 3));
        CHECK_OK(norn_close(rt));
    }
    return 0;
}
