/* The task hook sees the begin and end of every body that ran, once each, on one thread. */
#include "check.h"

enum { TASKS = 300 };
static atomic_int begins, ends;
static _Thread_local uint64_t open_token;
static norn_runtime *rt;
static void event(void *arg, norn_token token, const char *name, int32_t worker, int32_t begin) {
    CHECK(arg == &begins);
    CHECK(name != NULL && strcmp(name, "watched") == 0);
    CHECK(worker >= -1);
    if (begin) {
        CHECK_EQUAL(open_token, 0);
        open_token = token.id;
        atomic_fetch_add(&begins, 1);
    } else {
        CHECK(open_token == token.id);
        open_token = 0;
        atomic_fetch_add(&ends, 1);
    }
}
static int32_t body(norn_self *self, void *arg) {
    norn_self_info info = NORN_SELF_INFO_INIT;
    CHECK_OK(norn_self_get(self, &info));
    CHECK(open_token == info.token.id);
    return *(int *)arg;
}

int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    config.task_event = event;
    config.task_event_arg = &begins;
    rt = open_with(&config);
    norn_token gate = promised(rt, "gate");
    int codes[2] = {0, 1};
    for (int i = 0; i < TASKS; i++) {
        norn_task task = task_of(body, &codes[i % 10 == 0]);
        task.name = "watched";
        submit(rt, &task);
    }
    CHECK_OK(norn_cancel(rt, submit_after(rt, body_must_not_run, NULL, gate))); /* no body, no event */
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(begins, TASKS);
    norn_close(rt);
    CHECK_EQUAL(ends, TASKS);
    return 0;
}
