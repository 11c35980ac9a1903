/* An edge that would close a cycle is refused with the cycle's tasks by name; all else goes on. */
#include "check.h"

static atomic_int ran;
static norn_token bind_to(norn_runtime *rt, norn_token as, const char *name) {
    norn_task task = task_of(body_count, &ran);
    task.as = as;
    task.name = name;
    return submit(rt, &task);
}

int main(void) {
    norn_runtime *rt = open_plain();

    /* Three declared tokens in a ring, and an independent source. */
    norn_token a = declared(rt, "alpha"), b = declared(rt, "beta"), c = declared(rt, "gamma");
    CHECK_OK(norn_edge(rt, a, b));
    CHECK_OK(norn_edge(rt, b, c));
    norn_token source = submit_run(rt, body_count, &ran);
    CHECK_STATUS(norn_edge(rt, c, a), NORN_E_DEADLOCK);
    CHECK_SAYS("alpha");
    CHECK_SAYS("beta");
    CHECK_SAYS("gamma");
    CHECK_STATUS(norn_edge(rt, b, a), NORN_E_DEADLOCK);
    bind_to(rt, a, "alpha");
    CHECK_STATUS(norn_edge(rt, c, a), NORN_E_STATE); /* bound, and not held */
    bind_to(rt, b, "beta");
    bind_to(rt, c, "gamma");
    CHECK_OK(norn_await(rt, source, FOREVER));
    CHECK_OK(norn_await(rt, c, FOREVER));
    CHECK_EQUAL(ran, 4);

    /* Binding closes the ring: nothing of the task is taken, and another may be bound. */
    norn_token late = declared(rt, "late");
    norn_token next = submit_after(rt, body_count, &ran, late);
    norn_token after_next = submit_after(rt, body_count, &ran, next);
    norn_task task = task_of(body_must_not_run, &ran);
    task.drop = drop_count;
    task.name = "late";
    task.as = late;
    task.after = &after_next;
    task.after_count = 1;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_DEADLOCK);
    CHECK_SAYS("late");
    bind_to(rt, late, "late");
    CHECK_OK(norn_await(rt, after_next, FOREVER));
    CHECK_EQUAL(ran, 7);

    /* Held tasks. */
    norn_token held[2];
    for (int i = 0; i < 2; i++) {
        task = task_of(body_count, &ran);
        task.flags = NORN_HELD;
        task.name = i ? "held two" : "held one";
        held[i] = submit(rt, &task);
    }
    CHECK_OK(norn_edge(rt, held[0], held[1]));
    CHECK_STATUS(norn_edge(rt, held[1], held[0]), NORN_E_DEADLOCK);
    CHECK_SAYS("held one");
    CHECK_SAYS("held two");
    for (int i = 0; i < 2; i++) CHECK_OK(norn_start(rt, held[i]));
    CHECK_OK(norn_await_all(rt, held, 2, FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
