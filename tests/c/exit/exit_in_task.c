/* exit(0) inside a task ends the process with 0. */
#include "check.h"

static int32_t leave(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    exit(0);
}
int main(void) {
    norn_runtime *rt = open_plain();
    norn_token never = promised(rt, "never");
    submit_run(rt, leave, NULL);
    norn_await(rt, never, 20 * SECOND);
    return 1;
}
