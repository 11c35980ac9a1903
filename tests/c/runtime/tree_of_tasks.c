/* A binary tree of dependences runs every node after its children. */
#include "check.h"

enum { LEVELS = 12, NODES = (1 << LEVELS) - 1 };
static int64_t sums[NODES + 1];
static int numbers[NODES + 1];
static int32_t body(norn_self *self, void *arg) {
    const int node = *(int *)arg;
    (void)self;
    sums[node] = node;
    if (2 * node + 1 <= NODES) sums[node] += sums[2 * node] + sums[2 * node + 1];
    return 0;
}

int main(void) {
    norn_runtime *rt = open_plain();
    static norn_token tokens[NODES + 1];
    for (int round = 0; round < 5; round++) {
        for (int node = NODES; node >= 1; node--) {
            numbers[node] = node;
            norn_task task = task_of(body, &numbers[node]);
            if (2 * node + 1 <= NODES) {
                task.after = &tokens[2 * node];
                task.after_count = 2;
            }
            tokens[node] = submit(rt, &task);
        }
        CHECK_OK(norn_await(rt, tokens[1], FOREVER));
        CHECK_EQUAL(sums[1], (int64_t)NODES * (NODES + 1) / 2);
    }
    CHECK_OK(norn_close(rt));
    return 0;
}
