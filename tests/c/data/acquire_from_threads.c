/* Several application threads hold the same datum one after another. */
#include "check.h"

static norn_runtime *rt;
static norn_data data;
static int value;
static atomic_int inside;
static void *worker(void *arg) {
    norn_access access = norn_update(data);
    (void)arg;
    for (int i = 0; i < 200; i++) {
        norn_token hold;
        CHECK_OK(norn_data_acquire(rt, &access, 1, FOREVER, &hold));
        CHECK_EQUAL(atomic_fetch_add(&inside, 1), 0);
        value++;
        atomic_fetch_sub(&inside, 1);
        CHECK_OK(norn_data_release(rt, hold));
    }
    return NULL;
}

int main(void) {
    rt = open_plain();
    data = DATUM(rt, value);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, worker, NULL) == 0);
    for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK_EQUAL(value, 800);
    CHECK_OK(norn_close(rt));
    return 0;
}
