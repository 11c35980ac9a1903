/* Failures in one part of the graph leave the rest of it untouched. */
#include "check.h"

enum { CHAINS = 100, LENGTH = 20 };
static atomic_int ran;
int main(void) {
    norn_runtime *rt = open_plain();
    norn_token ends[CHAINS];
    for (int chain = 0; chain < CHAINS; chain++) {
        norn_token last = {0};
        for (int i = 0; i < LENGTH; i++)
            last = submit_after(rt, chain % 3 == 0 && i == LENGTH / 2 ? body_fail : body_count,
                                chain % 3 == 0 && i == LENGTH / 2 ? NULL : &ran, last);
        ends[chain] = last;
    }
    for (int chain = 0; chain < CHAINS; chain++)
        CHECK_STATUS(norn_await(rt, ends[chain], FOREVER), chain % 3 == 0 ? NORN_E_PROPAGATED : NORN_OK);
    CHECK_EQUAL(ran, 66 * LENGTH + 34 * (LENGTH / 2));
    CHECK_OK(norn_drain(rt, FOREVER));
    norn_runtime_stats stats = stats_of(rt);
    CHECK_EQUAL(stats.failed, 34);
    CHECK_EQUAL(stats.propagated, 34 * (LENGTH - LENGTH / 2 - 1));
    CHECK_OK(norn_close(rt));
    return 0;
}
