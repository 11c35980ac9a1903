/* A body that holds a COMMUTE datum awaits a task that needs it, at the moment when that task's other predecessor ends:
   the await is refused, whether or not the task has asked for its turn yet. */
#include "check.h"

enum { ROUNDS = 300 };
static norn_runtime *rt;
static norn_data turn, other;
static atomic_int submitted;
static int round_of;

static int32_t writes(norn_self *self, void *arg) {
    (void)self, (void)arg;
    while (!submitted) {
    }
    for (volatile int i = 0; i < round_of % 500 * 4; i++) {
    }
    return 0;
}

static int32_t holds(norn_self *self, void *arg) {
    (void)self, (void)arg;
    norn_access accesses[2] = {norn_commute(turn), norn_read(other)};
    norn_task task = task_of(body_nothing, NULL);
    task.accesses = accesses;
    task.access_count = 2;
    norn_token waits = submit(rt, &task);
    submitted = 1;
    norn_status status = norn_await(rt, waits, FOREVER);
    CHECK(status == NORN_E_WOULD_DEADLOCK || status == NORN_E_DEADLOCK);
    return 0;
}

int main(void) {
    rt = open_workers(2);
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    CHECK_OK(norn_data_register(rt, &desc, &turn));
    CHECK_OK(norn_data_register(rt, &desc, &other));
    for (round_of = 0; round_of < ROUNDS; round_of++) {
        submitted = 0;
        submit_on(rt, writes, NULL, norn_write(other));
        submit_on(rt, holds, NULL, norn_commute(turn));
        CHECK_OK(norn_drain(rt, FOREVER));
    }
    CHECK_OK(norn_close(rt));
    return 0;
}
