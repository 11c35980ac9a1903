/* Workers and spares have at least 8 MiB of stack, and as much as is asked for. */
#include "check.h"

static norn_runtime *rt;
static __attribute__((noinline)) int use(size_t bytes) {
    volatile char space[64 * 1024];
    for (size_t i = 0; i < sizeof space; i += 512) space[i] = (char)i;
    const int below = bytes > sizeof space ? use(bytes - sizeof space) : 0;
    return below + space[512] - (char)512;
}
static int32_t use_stack(norn_self *self, void *arg) {
    (void)self;
    CHECK_EQUAL(use(*(size_t *)arg), 0);
    return 0;
}
static int32_t use_on_spare(norn_self *self, void *arg) {
    CHECK_OK(norn_await(rt, submit_run(rt, use_stack, arg), FOREVER));
    return use_stack(self, arg);
}

int main(void) {
    size_t six = 6u << 20, twenty_eight = 28u << 20;
    norn_config config = NORN_CONFIG_INIT;
    config.workers = 2;
    /* Small limits of the shell do not make it less. */
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_STACK, &limit) == 0);
    struct rlimit small = {1u << 20, limit.rlim_max};
    CHECK(setrlimit(RLIMIT_STACK, &small) == 0);
    rt = open_with(&config);
    for (int i = 0; i < 6; i++) submit_run(rt, use_on_spare, &six);
    CHECK_OK(norn_close(rt));
    CHECK(setrlimit(RLIMIT_STACK, &limit) == 0);

    config.stack_bytes = 32u << 20;
    rt = open_with(&config);
    for (int i = 0; i < 6; i++) submit_run(rt, use_on_spare, &twenty_eight);
    CHECK_OK(norn_close(rt));

    config.stack_bytes = 0;
    CHECK(setenv("OMP_STACKSIZE", "32M", 1) == 0);
    rt = open_with(&config);
    for (int i = 0; i < 6; i++) submit_run(rt, use_on_spare, &twenty_eight);
    CHECK_OK(norn_close(rt));
    return 0;
}
