/* A parent completes after its children and their children, and its dependants wait for that. */
#include "check.h"

enum { DEPTH = 5, WIDTH = 3 };
static norn_runtime *rt;
static atomic_int leaves;
static int depths[DEPTH + 1];

static int32_t node(norn_self *self, void *arg) {
    const int depth = *(int *)arg;
    (void)self;
    if (depth == DEPTH) {
        sleep_ns(200000);
        atomic_fetch_add(&leaves, 1);
        return 0;
    }
    for (int i = 0; i < WIDTH; i++) {
        norn_task task = task_of(node, &depths[depth + 1]);
        task.flags = NORN_CHILD;
        submit(rt, &task);
    }
    return 0;
}
static int32_t after_all(norn_self *self, void *arg) {
    (void)self;
    CHECK_EQUAL(leaves, *(int *)arg);
    return 0;
}

int main(void) {
    rt = open_plain();
    int expected = 1;
    for (int i = 0; i <= DEPTH; i++) depths[i] = i;
    for (int i = 0; i < DEPTH; i++) expected *= WIDTH;
    norn_token root = submit_run(rt, node, &depths[0]);
    norn_token after = submit_after(rt, after_all, &expected, root);
    CHECK_OK(norn_await(rt, root, FOREVER));
    CHECK_EQUAL(leaves, expected);
    CHECK_OK(norn_await(rt, after, FOREVER));

    atomic_store(&leaves, 0);
    submit_run(rt, node, &depths[0]);
    CHECK_OK(norn_drain(rt, FOREVER)); /* children included */
    CHECK_EQUAL(leaves, expected);
    CHECK_OK(norn_close(rt));
    return 0;
}
