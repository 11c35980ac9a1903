/* A runtime that a static object holds may be closed by a destructor after main, as C++ globals do. */
#include "check.h"

static norn_runtime *rt;
static atomic_int ran;
__attribute__((destructor)) static void close_late(void) {
    if (rt == NULL) return;
    submit_run(rt, body_count, &ran);
    CHECK_OK(norn_close(rt));
    CHECK_EQUAL(ran, 101);
}
int main(void) {
    rt = open_plain();
    for (int i = 0; i < 100; i++) submit_run(rt, body_count, &ran);
    return 0;
}
