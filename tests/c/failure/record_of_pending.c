/* There is no record before a token completes. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token gate = promised(rt, "gate");
    norn_error_info info = NORN_ERROR_INFO_INIT;
    info.code = 99;
    CHECK_STATUS(norn_error(rt, gate, &info), NORN_E_STATE);
    CHECK_EQUAL(info.code, 99);
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_error(rt, gate, &info));
    CHECK_EQUAL(info.status, NORN_OK);
    CHECK_OK(norn_close(rt));
    return 0;
}
