/* A cycle of many tasks is found too, without a deep stack. */
#include "check.h"

enum { LENGTH = 20000 };
static norn_token links[LENGTH];
int main(void) {
    norn_runtime *rt = open_plain();
    for (int i = 0; i < LENGTH; i++) links[i] = declared(rt, "link");
    for (int i = 1; i < LENGTH; i++) CHECK_OK(norn_edge(rt, links[i - 1], links[i]));
    CHECK_STATUS(norn_edge(rt, links[LENGTH - 1], links[0]), NORN_E_DEADLOCK);
    CHECK_STATUS(norn_edge(rt, links[LENGTH - 1], links[LENGTH / 2]), NORN_E_DEADLOCK);
    CHECK(strlen(norn_last_error()) < 100000); /* not all of them by name */
    for (int i = LENGTH - 1; i >= 0; i--) {
        norn_task task = task_of(body_nothing, NULL);
        task.as = links[i];
        submit(rt, &task);
    }
    CHECK_OK(norn_await(rt, links[LENGTH - 1], FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
