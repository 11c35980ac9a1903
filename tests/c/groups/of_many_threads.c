/* Many threads submit into one group while its members do too. */
#include "check.h"

static norn_runtime *rt;
static norn_group group;
static atomic_int ran;
static int32_t one_more(norn_self *self, void *arg) {
    (void)self;
    submit_run(rt, body_count, arg);
    return 0;
}
static void *submitter(void *arg) {
    (void)arg;
    for (int i = 0; i < 500; i++) {
        norn_task task = task_of(one_more, &ran);
        task.group = group;
        submit(rt, &task);
    }
    return NULL;
}

int main(void) {
    rt = open_plain();
    for (int round = 0; round < 5; round++) {
        norn_token done;
        atomic_store(&ran, 0);
        CHECK_OK(norn_group_open(rt, "group", (norn_group){0}, &group, &done));
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, submitter, NULL) == 0);
        for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK_OK(norn_group_close(rt, group));
        CHECK_OK(norn_await(rt, done, FOREVER));
        CHECK_EQUAL(ran, 2000);
    }
    CHECK_OK(norn_close(rt));
    return 0;
}
