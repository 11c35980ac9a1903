/* One task at a time with random pauses, so that workers fall asleep at every moment: no wake-up is lost. */
#include "check.h"

static uint64_t seed = 88172645463325252u;
static uint64_t next_random(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

int main(int argc, char **argv) {
    norn_config config = NORN_CONFIG_INIT;
    if (argc > 1) config.spin_ns = atoll(argv[1]);
    norn_runtime *rt = open_with(&config);
    const int64_t rounds = scaled(5000, 1000000);
    int64_t worst = 0;
    for (int64_t i = 0; i < rounds; i++) {
        const int64_t begin = now_ns();
        norn_token token = submit_run(rt, body_nothing, NULL);
        CHECK_OK(norn_await(rt, token, FOREVER));
        const int64_t took = now_ns() - begin;
        if (took > worst) worst = took;
        const int64_t pause = (int64_t)(next_random() % 200000);
        if (pause > 50000) sleep_ns(pause - 50000); /* a sleep takes about that much longer than asked */
        else
            while (now_ns() - begin < pause) {
            }
    }
    printf("worst of %lld: %lld us\n", (long long)rounds, (long long)worst / 1000);
    CHECK_OK(norn_close(rt));
    return 0;
}
