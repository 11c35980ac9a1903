/* Edges between tokens that are all still unbound hold whatever the order of binding is. */
#include "check.h"

enum { LINKS = 200 };
static trace order;

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token links[LINKS];
    step steps[LINKS];
    for (int i = 0; i < LINKS; i++) links[i] = declared(rt, "link");
    for (int i = 1; i < LINKS; i++) CHECK_OK(norn_edge(rt, links[i - 1], links[i]));
    /* Bound from the last to the first: a graph built backwards. */
    for (int i = LINKS - 1; i >= 0; i--) {
        steps[i] = (step){&order, i};
        norn_task task = task_of(body_step, &steps[i]);
        task.as = links[i];
        submit(rt, &task);
        if (i > 0) CHECK(!is_done(rt, links[LINKS - 1]));
    }
    CHECK_OK(norn_await(rt, links[LINKS - 1], FOREVER));
    CHECK_EQUAL(order.count, LINKS);
    for (int i = 0; i < LINKS; i++) CHECK_EQUAL(order.ids[i], i);
    CHECK_OK(norn_close(rt));
    return 0;
}
