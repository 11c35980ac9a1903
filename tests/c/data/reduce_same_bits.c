/* A floating-point REDUCE gives the same bits in every mode and with every number of workers. */
#include "check.h"

enum { TASKS = 777, WIDTH = 5 };
static double sums[WIDTH];
static norn_runtime *rt;
static norn_data data;
static int numbers[TASKS];

static void zero(void *copy, uint64_t bytes, void *arg) {
    (void)arg;
    memset(copy, 0, bytes);
}
static void add(void *into, const void *from, uint64_t bytes, void *arg) {
    (void)arg;
    for (uint64_t i = 0; i < bytes / sizeof(double); i++) ((double *)into)[i] += ((const double *)from)[i];
}
static int32_t add_mine(norn_self *self, void *arg) {
    const int mine = *(int *)arg;
    void *copy;
    (void)self;
    CHECK_OK(norn_data_pointer(rt, data, &copy, NULL));
    for (int i = 0; i < WIDTH; i++) ((double *)copy)[i] += (mine % 2 ? 1e10 : 1.0) / (3.0 + mine * (i + 1));
    return 0;
}
static void run(int32_t mode, int32_t workers, uint64_t seed, double *result) {
    norn_config config = NORN_CONFIG_INIT;
    config.mode = mode;
    config.workers = workers;
    config.seed = seed;
    rt = open_with(&config);
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    desc.ptr = sums;
    desc.bytes = sizeof sums;
    desc.reduce.identity = zero;
    desc.reduce.combine = add;
    for (int i = 0; i < WIDTH; i++) sums[i] = 0.1 * i;
    CHECK_OK(norn_data_register(rt, &desc, &data));
    for (int i = 0; i < TASKS; i++) {
        numbers[i] = i;
        submit_on(rt, add_mine, &numbers[i], norn_reduce_into(data));
    }
    CHECK_OK(norn_drain(rt, FOREVER));
    memcpy(result, sums, sizeof sums);
    CHECK_OK(norn_close(rt));
}

int main(void) {
    double oracle[WIDTH], result[WIDTH];
    run(NORN_MODE_SYNC, -1, 0, oracle);
    const int32_t workers[] = {0, 1, 2, 3, 8};
    for (int repeat = 0; repeat < 3; repeat++)
        for (size_t i = 0; i < COUNT_OF(workers); i++) {
            run(NORN_MODE_ASYNC, workers[i], 0, result);
            CHECK(memcmp(oracle, result, sizeof oracle) == 0);
        }
    for (uint64_t seed = 1; seed <= 10; seed++) {
        run(NORN_MODE_SHUFFLE, -1, seed, result);
        CHECK(memcmp(oracle, result, sizeof oracle) == 0);
    }
    run(NORN_MODE_DEFAULT_STREAM, 2, 0, result);
    CHECK(memcmp(oracle, result, sizeof oracle) == 0);
    return 0;
}
