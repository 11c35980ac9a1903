/* A task placed at the opener runs on the very thread that opened, inside its waits. */
#include "check.h"

static norn_runtime *rt;
static long opener;
static atomic_int ran;
static int32_t on_opener(norn_self *self, void *arg) {
    norn_self_info info = NORN_SELF_INFO_INIT;
    (void)arg;
    CHECK_OK(norn_self_get(self, &info));
    CHECK_EQUAL(info.place.kind, NORN_PLACE_OPENER);
    CHECK_EQUAL(thread_id(), opener);
    atomic_fetch_add(&ran, 1);
    return 0;
}
static norn_token at_opener(norn_token before) {
    norn_task task = task_of(on_opener, NULL);
    task.place = norn_place_of(NORN_PLACE_OPENER, 0);
    task.after = &before;
    task.after_count = 1;
    return submit(rt, &task);
}
static void *other_thread(void *arg) {
    norn_token token = *(norn_token *)arg;
    /* This thread is not the opener: its wait does not run the body. */
    CHECK_STATUS(norn_await(rt, token, 50 * MILLISECOND), NORN_E_TIMEOUT);
    return NULL;
}

int main(void) {
    opener = thread_id();
    rt = open_plain();
    norn_token token = at_opener((norn_token){0});
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, other_thread, &token) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_EQUAL(ran, 0);
    CHECK_OK(norn_await(rt, token, FOREVER));
    CHECK_EQUAL(ran, 1);

    /* Woken for it while it waits for something else. */
    norn_token before = submit_run(rt, body_nothing, NULL);
    token = at_opener(before);
    norn_token after = submit_after(rt, body_nothing, NULL, token);
    CHECK_OK(norn_await(rt, after, FOREVER));
    CHECK_EQUAL(ran, 2);
    /* In a progress call, in a drain, in the close. */
    at_opener((norn_token){0});
    PROGRESS_UNTIL(rt, ran == 3);
    at_opener((norn_token){0});
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(ran, 4);
    at_opener(submit_run(rt, body_nothing, NULL));
    CHECK_OK(norn_close(rt));
    CHECK_EQUAL(ran, 5);
    return 0;
}
