/* Several runtimes live in one process, and tasks of one feed another. */
#include "check.h"

enum { RUNTIMES = 4, ROUNDS = 100 };
static norn_runtime *rts[RUNTIMES];
static atomic_int ran[RUNTIMES];
static norn_token bridges[RUNTIMES][ROUNDS];
typedef struct hop {
    int runtime, round;
} hop;
static hop hops[RUNTIMES][ROUNDS];

/* Runs in runtime r and lets the next runtime go on. */
static int32_t pass_on(norn_self *self, void *arg) {
    const hop *mine = arg;
    norn_self_info info = NORN_SELF_INFO_INIT;
    CHECK_OK(norn_self_get(self, &info));
    CHECK(info.runtime == rts[mine->runtime]);
    atomic_fetch_add(&ran[mine->runtime], 1);
    if (mine->runtime + 1 < RUNTIMES)
        CHECK_OK(norn_fulfill(rts[mine->runtime + 1], bridges[mine->runtime + 1][mine->round]));
    return 0;
}

int main(void) {
    for (int r = 0; r < RUNTIMES; r++) rts[r] = open_plain();
    norn_token last[RUNTIMES][ROUNDS];
    for (int round = 0; round < ROUNDS; round++)
        for (int r = RUNTIMES - 1; r >= 0; r--) {
            hops[r][round] = (hop){r, round};
            bridges[r][round] = promised(rts[r], "bridge");
            last[r][round] = submit_after(rts[r], pass_on, &hops[r][round], bridges[r][round]);
        }
    for (int round = 0; round < ROUNDS; round++) CHECK_OK(norn_fulfill(rts[0], bridges[0][round]));
    for (int r = 0; r < RUNTIMES; r++) {
        CHECK_OK(norn_await_all(rts[r], last[r], ROUNDS, FOREVER));
        CHECK_EQUAL(ran[r], ROUNDS);
        CHECK_STATUS(norn_test(rts[r], last[(r + 1) % RUNTIMES][0], &(int32_t){0}), NORN_E_INVALID);
    }
    for (int r = 0; r < RUNTIMES; r++) CHECK_OK(norn_close(rts[r]));
    return 0;
}
