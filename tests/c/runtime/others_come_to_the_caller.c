/* One worker that is the opener, alone with its graph until another thread comes, at any moment: no edge, no wait for
 * readers and no promise is lost (the seed is the round). */
#include "check.h"

enum { THEIRS = 500 };

static norn_runtime *rt;
static norn_data x;
static norn_token promise;
static long value; /* changed by one task at a time */
static long read_sum;
static unsigned delay;
static atomic_int gone;

static int32_t add(norn_self *self, void *arg) {
    (void)self, (void)arg;
    long seen = value;
    for (volatile int i = 0; i < 5; i++) continue;
    value = seen + 1;
    return 0;
}
static int32_t look(norn_self *self, void *arg) {
    (void)self, (void)arg;
    long seen = value;
    for (volatile int i = 0; i < 5; i++) continue;
    if (value != seen) return 1;
    __atomic_fetch_add(&read_sum, 1, __ATOMIC_RELAXED);
    return 0;
}
static norn_token submit_using(norn_task_fn run, norn_access access, norn_token after) {
    norn_task task = NORN_TASK_INIT;
    task.run = run;
    task.accesses = &access;
    task.access_count = 1;
    if (after.id) task.after = &after, task.after_count = 1;
    return submit(rt, &task);
}
static void *come(void *arg) {
    (void)arg;
    for (volatile unsigned i = 0; i < delay; i++) continue;
    for (int i = 0; i < THEIRS; i++) {
        submit_using(look, norn_read(x), (norn_token){0});
        submit_using(add, norn_update(x), (norn_token){0});
        if (i == THEIRS / 2) CHECK_OK(norn_fulfill(rt, promise));
    }
    atomic_store(&gone, 1);
    return NULL;
}

int main(void) {
    for (unsigned round = 0; round < scaled(200, 2000); round++) {
        norn_config config = NORN_CONFIG_INIT;
        config.flags = NORN_CALLER_WORKS;
        config.workers = 1;
        rt = open_with(&config);
        value = read_sum = 0;
        atomic_store(&gone, 0);
        delay = (round * 2654435761u) >> 18;
        norn_data_desc desc = NORN_DATA_DESC_INIT;
        desc.ptr = &value;
        desc.bytes = sizeof value;
        CHECK_OK(norn_data_register(rt, &desc, &x));
        CHECK_OK(norn_promise(rt, "theirs", &promise));
        pthread_t other;
        CHECK_EQUAL(pthread_create(&other, NULL, come, NULL), 0);
        int own = 0;
        for (int last = 0; !last; own++) { /* at work before it comes, and until it has gone */
            last = atomic_load(&gone);
            submit_using(look, norn_read(x), (norn_token){0});
            submit_using(look, norn_read(x), (norn_token){0});
            norn_token added = submit_using(add, norn_update(x), last ? promise : (norn_token){0});
            if (!last) CHECK_OK(norn_await(rt, added, FOREVER)); /* so that they append to what is just ending */
        }
        CHECK_EQUAL(pthread_join(other, NULL), 0);
        CHECK_OK(norn_drain(rt, FOREVER));
        CHECK_EQUAL(value, own + THEIRS);
        CHECK_EQUAL(read_sum, 2 * own + THEIRS);
        CHECK_OK(norn_close(rt));
    }
    return 0;
}
