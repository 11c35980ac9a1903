/* norn_test says whether a token has completed and never waits. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token gate = promised(rt, "gate"), unbound = declared(rt, "unbound");
    norn_token task = submit_after(rt, body_fail, NULL, gate);
    norn_token behind = submit_after(rt, body_must_not_run, NULL, task);
    CHECK(!is_done(rt, gate) && !is_done(rt, unbound) && !is_done(rt, task) && !is_done(rt, behind));
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK(is_done(rt, gate));
    PROGRESS_UNTIL(rt, is_done(rt, behind));
    CHECK(is_done(rt, task) && is_done(rt, behind) && !is_done(rt, unbound));
    CHECK_OK(norn_cancel(rt, unbound));
    CHECK(is_done(rt, unbound));
    CHECK_STATUS(norn_await(rt, behind, 0), NORN_E_PROPAGATED);
    norn_close(rt);
    return 0;
}
