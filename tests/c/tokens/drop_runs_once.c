/* drop runs exactly once however a task ends, and before its token shows complete. */
#include "check.h"

typedef struct held_by_task {
    atomic_int drops;
    int fail;
} held_by_task;

static int32_t body(norn_self *self, void *arg) {
    (void)self;
    CHECK_EQUAL(((held_by_task *)arg)->drops, 0);
    return ((held_by_task *)arg)->fail;
}
static void drop(void *arg) {
    sleep_ms(1); /* give a token that shows complete too early a chance to be seen */
    atomic_fetch_add(&((held_by_task *)arg)->drops, 1);
}
static void on_complete(void *arg, norn_token token, norn_status status) {
    (void)token;
    (void)status;
    CHECK_EQUAL(((held_by_task *)arg)->drops, 1);
}

enum { SUCCESS, FAILURE, PROPAGATED, CANCELLED, HELD_CANCELLED, AT_CLOSE, WAYS };
static held_by_task args[WAYS];

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token gate = promised(rt, "gate"), never = promised(rt, "never"), tokens[WAYS];
    for (int i = 0; i < WAYS; i++) {
        norn_task task = task_of(body, &args[i]);
        task.drop = drop;
        args[i].fail = i == FAILURE ? 3 : 0;
        task.after = &gate;
        task.after_count = 1;
        if (i == PROPAGATED) task.after = &tokens[FAILURE];
        if (i == HELD_CANCELLED) task.flags = NORN_HELD;
        if (i == AT_CLOSE) task.after = &never;
        tokens[i] = submit(rt, &task);
        CHECK_OK(norn_on_complete(rt, tokens[i], on_complete, &args[i]));
    }
    CHECK_OK(norn_cancel(rt, tokens[CANCELLED]));
    CHECK_OK(norn_cancel(rt, tokens[HELD_CANCELLED]));
    CHECK_OK(norn_fulfill(rt, gate));

    const norn_status ends[] = {NORN_OK, NORN_E_TASK_FAILED, NORN_E_PROPAGATED, NORN_E_CANCELLED, NORN_E_CANCELLED};
    for (int i = 0; i < AT_CLOSE; i++) {
        PROGRESS_UNTIL(rt, is_done(rt, tokens[i]));
        CHECK_EQUAL(args[i].drops, 1);
        CHECK_STATUS(norn_await(rt, tokens[i], FOREVER), ends[i]);
    }
    CHECK_EQUAL(args[AT_CLOSE].drops, 0);
    norn_close(rt);
    for (int i = 0; i < WAYS; i++) CHECK_EQUAL(args[i].drops, 1);
    return 0;
}
