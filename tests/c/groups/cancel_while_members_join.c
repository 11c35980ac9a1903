/* A group cancelled while threads submit into it: each member runs or is cancelled, its argument is dropped once, and
   the order in its data holds. */
#include "check.h"

enum { ROUNDS = 400, THREADS = 2 };
static norn_runtime *rt;
static norn_data datum;
static _Atomic uint64_t group;
static atomic_int submitted, dropped, inside, over;

static int32_t alone(norn_self *self, void *arg) {
    (void)self, (void)arg;
    CHECK_EQUAL(atomic_fetch_add(&inside, 1), 0);
    atomic_fetch_sub(&inside, 1);
    return 0;
}

static void drop(void *arg) {
    (void)arg;
    atomic_fetch_add(&dropped, 1);
}

static void *submits(void *arg) {
    norn_access access = norn_update(datum);
    (void)arg;
    while (!over) {
        if (submitted - dropped > 16) {
            CHECK_OK(norn_progress(rt));
            continue;
        }
        norn_task task = task_of(alone, &submitted);
        task.drop = drop;
        task.accesses = &access;
        task.access_count = 1;
        task.group.id = group;
        /* Refused when the group has ended meanwhile. */
        if (norn_submit(rt, &task, NULL) == NORN_OK) atomic_fetch_add(&submitted, 1);
    }
    return NULL;
}

int main(void) {
    rt = open_plain();
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    CHECK_OK(norn_data_register(rt, &desc, &datum));
    pthread_t threads[THREADS];
    norn_group opened;
    norn_token done;
    CHECK_OK(norn_group_open(rt, "group", (norn_group){0}, &opened, &done));
    group = opened.id;
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, submits, NULL) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        for (int begun = submitted; submitted < begun + 3;) CHECK_OK(norn_progress(rt));
        CHECK_OK(norn_cancel(rt, done));
        CHECK_OK(norn_group_open(rt, "group", (norn_group){0}, &opened, &done));
        group = opened.id;
    }
    over = 1;
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK_OK(norn_group_close(rt, opened));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(dropped, submitted);
    CHECK_OK(norn_data_unregister(rt, datum));
    norn_close(rt);
    return 0;
}
