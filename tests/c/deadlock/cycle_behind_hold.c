/* A hold of an application thread that has not been reached keeps its order: a cycle through it is refused. */
#include "check.h"

static norn_runtime *rt;
static norn_data data;
static atomic_int waiting, tried;

/* A member of the group may not come behind what waits for the group. */
static int32_t submits_member(norn_self *self, void *arg) {
    norn_task task = task_of(body_must_not_run, NULL);
    norn_access access = *(norn_access *)arg;
    (void)self;
    WAIT_FOR(waiting);
    sleep_ms(50); /* the hold has its place by now, most probably; if not, the answer is the same */
    task.accesses = &access;
    task.access_count = 1;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_DEADLOCK);
    tried = 1;
    return 0;
}

static void *acquires(void *arg) {
    norn_access access = norn_update(data);
    norn_token hold;
    (void)arg;
    waiting = 1;
    CHECK_OK(norn_data_acquire(rt, &access, 1, FOREVER, &hold));
    CHECK(tried);
    CHECK_OK(norn_data_release(rt, hold));
    return NULL;
}

int main(void) {
    norn_config config = NORN_CONFIG_INIT;
    config.workers = 2;
    rt = open_with(&config);
    norn_access accesses[2];
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        norn_group group;
        norn_token done;
        waiting = tried = 0;
        data = pure_name(rt, "data");
        accesses[i] = i == 0 ? norn_read(data) : norn_update(data);
        CHECK_OK(norn_group_open(rt, "group", (norn_group){0}, &group, &done));
        norn_task task = task_of(submits_member, &accesses[i]);
        task.group = group;
        submit(rt, &task);
        CHECK_OK(norn_group_close(rt, group));
        submit_on_after(rt, body_nothing, NULL, norn_update(data), done);
        CHECK(pthread_create(&thread, NULL, acquires, NULL) == 0);
        pthread_join(thread, NULL);
    }
    CHECK_OK(norn_close(rt));
    return 0;
}
