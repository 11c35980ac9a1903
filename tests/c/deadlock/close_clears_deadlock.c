/* Closing ends what can never run: drops run, tokens fail, nothing hangs. */
#include "check.h"

static atomic_int dropped, called;
static void note(void *arg, norn_token token, norn_status status) {
    (void)arg;
    (void)token;
    CHECK(status == NORN_E_CLOSED || status == NORN_E_PROPAGATED);
    atomic_fetch_add(&called, 1);
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token before[3] = {promised(rt, "promise"), declared(rt, "unbound"), {0}};
    norn_data data = pure_name(rt, "d");
    norn_access access = norn_write(data);
    uint64_t slot;
    CHECK_OK(norn_reserve(rt, &access, 1, &slot));
    for (int i = 0; i < 300; i++) {
        norn_task task = task_of(body_must_not_run, &dropped);
        access = norn_read(data);
        task.drop = drop_count;
        task.after = &before[i % 3];
        task.after_count = 1;
        task.accesses = &access;
        task.access_count = i % 3 == 2;
        if (i % 5 == 0) task.flags = NORN_HELD;
        CHECK_OK(norn_on_complete(rt, submit(rt, &task), note, NULL));
    }
    norn_close(rt);
    CHECK_EQUAL(dropped, 300);
    CHECK_EQUAL(called, 300);
    return 0;
}
