/* One progress call without workers runs at most one ready body. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_workers(0);
    atomic_int ran = 0;
    CHECK_OK(norn_progress(rt));
    for (int i = 0; i < 10; i++) submit_run(rt, body_count, &ran);
    for (int i = 0; i < 1000 && ran < 10; i++) {
        const int before = ran;
        CHECK_OK(norn_progress(rt));
        CHECK(ran - before <= 1);
    }
    CHECK_EQUAL(ran, 10);
    CHECK_OK(norn_progress(rt));
    CHECK_OK(norn_close(rt));
    return 0;
}
