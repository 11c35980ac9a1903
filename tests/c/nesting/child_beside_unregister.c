/* While an unregister waits for a task, that task's children may still use the datum inside its access. */
#include "check.h"

static norn_runtime *rt;
static norn_data datum;
static atomic_int ran;
static norn_token parent_token;

static int32_t child(norn_self *self, void *arg) {
    (void)self, (void)arg;
    atomic_fetch_add(&ran, 1);
    return 0;
}

static int32_t parent(norn_self *self, void *arg) {
    (void)self, (void)arg;
    /* Others are refused from the moment on when the unregister waits. */
    norn_access read = norn_read(datum);
    norn_task other = task_of(body_nothing, NULL);
    other.accesses = &read;
    other.access_count = 1;
    WAIT_FOR(norn_submit(rt, &other, NULL) == NORN_E_STATE);
    norn_access update = norn_update(datum);
    norn_task inside = task_of(child, NULL);
    inside.flags = NORN_CHILD;
    inside.accesses = &update;
    inside.access_count = 1;
    CHECK_OK(norn_submit(rt, &inside, NULL));
    return 0;
}

static void *unregisters(void *arg) {
    (void)arg;
    CHECK_OK(norn_data_unregister(rt, datum));
    return NULL;
}

int main(void) {
    rt = open_plain();
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    CHECK_OK(norn_data_register(rt, &desc, &datum));
    parent_token = submit_on(rt, parent, NULL, norn_update(datum));
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, unregisters, NULL) == 0);
    /* Runs the bodies where this thread has to. */
    CHECK_OK(norn_await(rt, parent_token, FOREVER));
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_EQUAL(ran, 1);
    CHECK_OK(norn_close(rt));
    return 0;
}
