/* A task with a hold completes when its body has ended and the hold is taken off, in whichever order the two come. */
#include "check.h"

static norn_runtime *rt;
static norn_token token_of_body;
static atomic_int body_ended, successor_ran;

static int32_t hold_one(norn_self *self, void *arg) {
    norn_self_info info = NORN_SELF_INFO_INIT;
    CHECK_OK(norn_self_hold(self, 1));
    CHECK_OK(norn_self_get(self, &info));
    token_of_body = info.token;
    if (arg != NULL) { /* completed inside the body */
        CHECK_OK(norn_unhold(rt, info.token, 1));
        CHECK(!is_done(rt, info.token));
        CHECK_EQUAL(successor_ran, 0);
    }
    atomic_store(&body_ended, 1);
    return 0;
}

static int32_t successor(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    CHECK_EQUAL(body_ended, 1);
    atomic_store(&successor_ran, 1);
    return 0;
}

static void reset(void) {
    atomic_store(&body_ended, 0);
    atomic_store(&successor_ran, 0);
}

static void *unhold_later(void *arg) {
    sleep_ms(20);
    CHECK_EQUAL(successor_ran, 0);
    CHECK_OK(norn_unhold(rt, *(norn_token *)arg, 1));
    return NULL;
}

int main(void) {
    rt = open_plain();

    /* External completion before the body starts: a promise already fulfilled. */
    norn_token external = promised(rt, "external");
    norn_token gate = promised(rt, "gate");
    norn_token body = submit_after(rt, hold_one, &rt, gate);
    norn_token both[2] = {body, external};
    norn_task task = task_of(successor, NULL);
    task.after = both;
    task.after_count = 2;
    norn_token next = submit(rt, &task);
    CHECK_OK(norn_fulfill(rt, external));
    CHECK_STATUS(norn_await(rt, next, 10 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_await(rt, next, FOREVER));
    CHECK_EQUAL(successor_ran, 1);

    /* Inside the body. */
    reset();
    body = submit_run(rt, hold_one, &rt);
    next = submit_after(rt, successor, NULL, body);
    CHECK_OK(norn_await(rt, next, FOREVER));

    /* After the body, by a thread never seen before. */
    reset();
    body = submit_run(rt, hold_one, NULL);
    next = submit_after(rt, successor, NULL, body);
    PROGRESS_UNTIL(rt, body_ended == 1);
    CHECK_STATUS(norn_await(rt, next, 20 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK(!is_done(rt, body));
    CHECK(token_of_body.id == body.id);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, unhold_later, &body) == 0);
    CHECK_OK(norn_await(rt, next, FOREVER));
    CHECK_EQUAL(successor_ran, 1);
    CHECK(pthread_join(thread, NULL) == 0);

    /* Twice. */
    CHECK_STATUS(norn_unhold(rt, body, 1), NORN_E_STATE);
    CHECK_OK(norn_close(rt));
    return 0;
}
