/* Completing a promise a second time is an error each time and changes nothing. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token good = promised(rt, "good"), bad = promised(rt, "bad");
    CHECK_OK(norn_fulfill(rt, good));
    CHECK_OK(norn_fail(rt, bad, 3, "first"));
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(norn_fulfill(rt, good), NORN_E_STATE);
        CHECK_STATUS(norn_fail(rt, good, 4, "second"), NORN_E_STATE);
        CHECK_STATUS(norn_fulfill(rt, bad), NORN_E_STATE);
        CHECK_STATUS(norn_fail(rt, bad, 4, "second"), NORN_E_STATE);
        /* Give the slots of the two to other tokens: the answer must stay. */
        for (int k = 0; k < 100; k++) CHECK_OK(norn_fulfill(rt, promised(rt, "other")));
    }
    CHECK_OK(norn_await(rt, good, 0));
    CHECK_STATUS(norn_await(rt, bad, 0), NORN_E_TASK_FAILED);
    CHECK_EQUAL(record_of(rt, bad).code, 3);
    CHECK(strcmp(record_of(rt, bad).text, "first") == 0);
    CHECK_OK(norn_close(rt));
    return 0;
}
