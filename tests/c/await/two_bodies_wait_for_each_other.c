/* Of two bodies that wait for each other one is told so, and the other then sees how that one ended. */
#include "check.h"

static norn_runtime *rt;
static norn_token tokens[2];
static atomic_int told, saw_failure;

static int32_t body(norn_self *self, void *arg) {
    norn_status status = norn_await(rt, tokens[1 - *(int *)arg], FOREVER);
    if (status == NORN_E_DEADLOCK || status == NORN_E_WOULD_DEADLOCK) {
        CHECK(norn_last_error()[0] != 0);
        atomic_fetch_add(&told, 1);
        return norn_self_fail(self, 5, "deadlock seen");
    }
    CHECK_STATUS(status, NORN_E_TASK_FAILED);
    CHECK_EQUAL(record_of(rt, tokens[1 - *(int *)arg]).code, 5);
    atomic_fetch_add(&saw_failure, 1);
    return 0;
}

int main(void) {
    rt = open_plain();
    int numbers[2] = {0, 1};
    for (int round = 1; round <= 20; round++) {
        norn_token gate = promised(rt, "gate");
        for (int i = 0; i < 2; i++) {
            norn_task task = task_of(body, &numbers[i]);
            task.name = i ? "right" : "left";
            task.after = &gate;
            task.after_count = 1;
            tokens[i] = submit(rt, &task);
        }
        CHECK_OK(norn_fulfill(rt, gate));
        CHECK_OK(norn_drain(rt, FOREVER));
        CHECK_EQUAL(told, round);
        CHECK_EQUAL(saw_failure, round);
        CHECK_STATUS(norn_await_all(rt, tokens, 2, FOREVER), NORN_E_TASK_FAILED);
    }
    CHECK_OK(norn_close(rt));
    return 0;
}
