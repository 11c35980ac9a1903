/* A child after its own parent, or after what waits for the parent, would never run and the parent never complete: it is
   refused. A child after a sibling or after a stranger is right. */
#include "check.h"

static norn_runtime *rt;
static atomic_int ran;

static norn_token token_of(norn_self *self) {
    norn_self_info info = NORN_SELF_INFO_INIT;
    CHECK_OK(norn_self_get(self, &info));
    return info.token;
}

static int32_t makes_children(norn_self *self, void *arg) {
    norn_token before = *(norn_token *)arg, own = token_of(self), behind, sibling, late;
    norn_task child = task_of(body_must_not_run, NULL);
    child.flags = NORN_CHILD;
    child.after_count = 1;
    child.after = &own;
    CHECK_STATUS(norn_submit(rt, &child, NULL), NORN_E_DEADLOCK);
    CHECK_SAYS("cycle");

    behind = submit_after(rt, body_count, &ran, own);
    child.after = &behind;
    CHECK_STATUS(norn_submit(rt, &child, NULL), NORN_E_DEADLOCK);
    CHECK_STATUS(norn_submit_many(rt, &child, 1, NULL), NORN_E_DEADLOCK);

    /* Bound to a token that waits already. */
    late = declared(rt, "late");
    CHECK_OK(norn_edge(rt, behind, late));
    child.after_count = 0;
    child.as = late;
    CHECK_STATUS(norn_submit(rt, &child, NULL), NORN_E_DEADLOCK);
    CHECK_SAYS("late");
    CHECK_OK(norn_cancel(rt, late));

    child.run = body_count;
    child.arg = &ran;
    child.after = &before;
    child.after_count = 1;
    child.as = (norn_token){0};
    sibling = submit(rt, &child);
    child.after = &sibling;
    CHECK_OK(norn_submit(rt, &child, NULL));

    /* A sibling behind a token that becomes a child itself. */
    late = declared(rt, "sibling");
    child.after = &late;
    CHECK_OK(norn_submit(rt, &child, NULL));
    child.after = &sibling;
    child.as = late;
    CHECK_OK(norn_submit(rt, &child, NULL));
    return 0;
}

int main(void) {
    rt = open_plain();
    norn_token before = promised(rt, "before");
    norn_token parent = submit_run(rt, makes_children, &before);
    CHECK_STATUS(norn_await(rt, parent, 20 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_OK(norn_fulfill(rt, before));
    CHECK_OK(norn_await(rt, parent, FOREVER));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(ran, 5);
    CHECK_OK(norn_close(rt));
    return 0;
}
