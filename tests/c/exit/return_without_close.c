/* Returning from main with the runtime open and work under way ends the process quietly with its own code. */
#include "check.h"

static int32_t slow(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    sleep_ms(200);
    return 0;
}
int main(void) {
    norn_runtime *rt = open_plain();
    norn_token gate = promised(rt, "never");
    for (int i = 0; i < 10; i++) submit_run(rt, slow, NULL);
    submit_after(rt, body_nothing, NULL, gate);
    if (runs_inside_calls_only(rt)) CHECK_OK(norn_progress(rt));
    else sleep_ms(20);
    return 0;
}
