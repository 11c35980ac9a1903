/* Only promises can be fulfilled or failed by hand. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token gate = promised(rt, "gate");
    norn_token task = submit_after(rt, body_nothing, NULL, gate);
    norn_token unbound = declared(rt, "unbound");
    norn_group group;
    norn_token done;
    CHECK_OK(norn_group_open(rt, "group", (norn_group){0}, &group, &done));

    const norn_token not_promises[] = {task, unbound, done, {0}};
    for (size_t i = 0; i < COUNT_OF(not_promises); i++) {
        norn_status status = norn_fulfill(rt, not_promises[i]);
        /* The zero token is complete already; either answer is right for it. */
        CHECK(status == NORN_E_INVALID || (not_promises[i].id == 0 && status == NORN_E_STATE));
        status = norn_fail(rt, not_promises[i], 1, "no");
        CHECK(status == NORN_E_INVALID || (not_promises[i].id == 0 && status == NORN_E_STATE));
    }
    CHECK(!is_done(rt, task) && !is_done(rt, unbound) && !is_done(rt, done));

    CHECK_OK(norn_group_close(rt, group));
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_cancel(rt, unbound));
    CHECK_OK(norn_await(rt, task, FOREVER));
    CHECK_OK(norn_await(rt, done, FOREVER));
    /* A complete token may have been anything: it was completed before, whatever it was. */
    CHECK_STATUS(norn_fulfill(rt, task), NORN_E_STATE);
    CHECK_STATUS(norn_fail(rt, task, 1, "no"), NORN_E_STATE);
    CHECK_STATUS(norn_fail(rt, done, 1, "no"), NORN_E_STATE);
    norn_close(rt);
    return 0;
}
