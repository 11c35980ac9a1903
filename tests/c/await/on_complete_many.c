/* Many callbacks on one token and many tokens with callbacks: each runs exactly once. */
#include "check.h"

enum { TOKENS = 2000, ON_ONE = 500 };
static atomic_int calls[TOKENS], on_one;
static void note(void *arg, norn_token token, norn_status status) {
    (void)token;
    CHECK_OK(status);
    atomic_fetch_add((atomic_int *)arg, 1);
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token gate = promised(rt, "gate");
    for (int i = 0; i < ON_ONE; i++) CHECK_OK(norn_on_complete(rt, gate, note, &on_one));
    for (int i = 0; i < TOKENS; i++) {
        norn_token token = submit_run(rt, body_nothing, NULL);
        CHECK_OK(norn_on_complete(rt, token, note, &calls[i]));
    }
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_close(rt));
    CHECK_EQUAL(on_one, ON_ONE);
    for (int i = 0; i < TOKENS; i++) CHECK_EQUAL(calls[i], 1);
    return 0;
}
