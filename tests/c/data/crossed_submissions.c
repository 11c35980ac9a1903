/* Two threads submit tasks on (a, b) and on (b, a): places are taken in one step, so nothing locks up. */
#include "check.h"

static norn_runtime *rt;
static norn_data data[3];
static int64_t values[3], rounds;

static int32_t add_one_to_all(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    for (int i = 0; i < 3; i++) values[i]++;
    return 0;
}
static void *submitter(void *arg) {
    const int shift = *(int *)arg;
    norn_access accesses[3];
    for (int i = 0; i < 3; i++) accesses[i] = norn_update(data[shift < 3 ? (i + shift) % 3 : 2 - i]);
    norn_task task = task_of(add_one_to_all, NULL);
    task.accesses = accesses;
    task.access_count = 3;
    for (int64_t i = 0; i < rounds; i++) {
        submit(rt, &task);
        if (i % 512 == 511) CHECK_OK(norn_drain(rt, FOREVER));
    }
    return NULL;
}

int main(void) {
    rt = open_plain();
    rounds = scaled(10000, 1000000);
    for (int i = 0; i < 3; i++) data[i] = DATUM(rt, values[i]);
    pthread_t threads[4];
    int shifts[4] = {0, 1, 2, 3};
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, submitter, &shifts[i]) == 0);
    for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK_OK(norn_drain(rt, FOREVER));
    for (int i = 0; i < 3; i++) CHECK_EQUAL(values[i], 4 * rounds);
    CHECK_OK(norn_close(rt));
    return 0;
}
