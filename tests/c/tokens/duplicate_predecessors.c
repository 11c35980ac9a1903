/* Naming one predecessor many times is naming it once. */
#include "check.h"

static atomic_int ran;

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token a = promised(rt, "a"), b = promised(rt, "b");
    norn_token after[7] = {a, b, a, a, b, {0}, a};
    norn_task task = task_of(body_count, &ran);
    task.after = after;
    task.after_count = 7;
    norn_token token = submit(rt, &task);
    CHECK_OK(norn_fulfill(rt, a));
    CHECK_STATUS(norn_await(rt, token, 20 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_OK(norn_fulfill(rt, b));
    CHECK_OK(norn_await(rt, token, FOREVER));

    norn_token c = promised(rt, "c"), unbound = declared(rt, "unbound");
    for (int i = 0; i < 5; i++) CHECK_OK(norn_edge(rt, c, unbound));
    norn_task binder = task_of(body_count, &ran);
    binder.as = unbound;
    binder.after = &c;
    binder.after_count = 1;
    submit(rt, &binder);
    CHECK_STATUS(norn_await(rt, unbound, 20 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_OK(norn_fulfill(rt, c));
    CHECK_OK(norn_await(rt, unbound, FOREVER));
    CHECK_OK(norn_close(rt));
    CHECK_EQUAL(ran, 2);
    return 0;
}
