/* A graph declared consumer first, with every task bound last, runs in the right order. */
#include "check.h"

enum { LAYERS = 30, WIDTH = 20 };
static norn_runtime *rt;
static norn_token tokens[LAYERS][WIDTH];
static atomic_int done_in_layer[LAYERS];
static int numbers[LAYERS];
static int32_t body(norn_self *self, void *arg) {
    const int layer = *(int *)arg;
    (void)self;
    if (layer > 0) CHECK_EQUAL(done_in_layer[layer - 1], WIDTH);
    atomic_fetch_add(&done_in_layer[layer], 1);
    return 0;
}

int main(void) {
    rt = open_plain();
    for (int layer = 0; layer < LAYERS; layer++) {
        numbers[layer] = layer;
        for (int i = 0; i < WIDTH; i++) tokens[layer][i] = declared(rt, "node");
    }
    for (int layer = LAYERS - 1; layer >= 0; layer--)
        for (int i = 0; i < WIDTH; i++) {
            norn_task task = task_of(body, &numbers[layer]);
            task.as = tokens[layer][i];
            if (layer > 0 && i % 2) { /* half of them by edges, half by `after` */
                for (int k = 0; k < WIDTH; k++) CHECK_OK(norn_edge(rt, tokens[layer - 1][k], task.as));
            } else if (layer > 0) {
                task.after = tokens[layer - 1];
                task.after_count = WIDTH;
            }
            submit(rt, &task);
        }
    CHECK_OK(norn_await_all(rt, tokens[LAYERS - 1], WIDTH, FOREVER));
    CHECK_EQUAL(done_in_layer[LAYERS - 1], WIDTH);
    CHECK_OK(norn_close(rt));
    return 0;
}
