/* max_live_tasks slows submission down and never stops it, outside tasks and inside. */
#include "check.h"

static norn_runtime *rt;
static atomic_int ran;
static int32_t submit_many_inside(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    for (int i = 0; i < 5000; i++) submit_run(rt, body_count, &ran);
    return 0;
}
static void *submit_outside(void *arg) {
    (void)arg;
    for (int i = 0; i < 5000; i++) submit_run(rt, body_count, &ran);
    return NULL;
}

int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    config.max_live_tasks = 100;
    rt = open_with(&config);
    for (int i = 0; i < 20000; i++) submit_run(rt, body_count, &ran);
    for (int i = 0; i < 4; i++) submit_run(rt, submit_many_inside, NULL);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) CHECK(pthread_create(&threads[i], NULL, submit_outside, NULL) == 0);
    for (int i = 0; i < 3; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(ran, 20000 + 20000 + 15000);

    /* All live tasks wait for what is submitted last: no waiting for them. */
    norn_token last = declared(rt, "last");
    for (int i = 0; i < 1000; i++) submit_after(rt, body_count, &ran, last);
    norn_task task = task_of(body_count, &ran);
    task.as = last;
    submit(rt, &task);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(ran, 56001);
    CHECK_OK(norn_close(rt));
    return 0;
}
