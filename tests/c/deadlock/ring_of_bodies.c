/* A ring of bodies that await one another is broken at the call that closes it. */
#include "check.h"

enum { RING = 6 };
static norn_runtime *rt;
static norn_token tokens[RING];
static atomic_int told, failed;
static int32_t body(norn_self *self, void *arg) {
    norn_status status = norn_await(rt, tokens[(*(int *)arg + 1) % RING], FOREVER);
    (void)self;
    if (status == NORN_E_DEADLOCK || status == NORN_E_WOULD_DEADLOCK) {
        CHECK_SAYS("member");
        atomic_fetch_add(&told, 1);
        return 1;
    }
    CHECK_STATUS(status, NORN_E_TASK_FAILED);
    atomic_fetch_add(&failed, 1);
    return 1;
}

int main(void) {
    rt = open_plain();
    norn_token gate = promised(rt, "gate");
    int numbers[RING];
    for (int i = 0; i < RING; i++) {
        numbers[i] = i;
        norn_task task = task_of(body, &numbers[i]);
        task.name = "member";
        task.after = &gate;
        task.after_count = 1;
        tokens[i] = submit(rt, &task);
    }
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(told, 1);
    CHECK_EQUAL(failed, RING - 1);
    norn_close(rt);
    return 0;
}
