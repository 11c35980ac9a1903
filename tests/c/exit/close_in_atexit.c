/* Closing in an atexit handler works as it does in main. */
#include "check.h"

static norn_runtime *rt;
static atomic_int ran;
static void at_exit(void) {
    for (int i = 0; i < 100; i++) submit_run(rt, body_count, &ran);
    CHECK_OK(norn_close(rt));
    CHECK_EQUAL(ran, 200);
}
int main(void) {
    CHECK(atexit(at_exit) == 0);
    rt = open_plain();
    for (int i = 0; i < 100; i++) submit_run(rt, body_count, &ran);
    return 0;
}
