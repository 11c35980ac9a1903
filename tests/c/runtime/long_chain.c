/* A very long chain runs, is cancelled, fails and is closed without a deep stack anywhere. */
#include "check.h"

static atomic_int ran, dropped;
static int64_t length;
enum { RUN, CANCEL, CLOSE, CLOSE_WITH_CANCEL, DATA, WAYS };

static void *on_small_stack(void *arg) {
    (void)arg;
    for (int way = 0; way < WAYS; way++) {
        norn_config config = NORN_CONFIG_INIT;
        config.stack_bytes = 256 * 1024;
        norn_runtime *rt = open_with(&config);
        atomic_store(&ran, 0);
        atomic_store(&dropped, 0);
        norn_token gate = promised(rt, "gate"), last;
        norn_data data = pure_name(rt, "chain");
        norn_access access = norn_update(data);
        norn_token head = submit_after(rt, body_nothing, NULL, gate);
        last = head;
        for (int64_t i = 0; i < length; i++) {
            norn_task task = task_of(body_count, &ran);
            task.drop = drop_count;
            task.arg = way == RUN || way == DATA ? &ran : &dropped;
            if (way == RUN || way == DATA) task.drop = NULL;
            if (way == DATA && i > 0) {
                task.accesses = &access;
                task.access_count = 1;
            } else {
                task.after = &last;
                task.after_count = 1;
            }
            if (way == DATA && i == 0) {
                task.accesses = &access;
                task.access_count = 1;
            }
            last = submit(rt, &task);
        }
        if (way == RUN || way == DATA) {
            CHECK_OK(norn_fulfill(rt, gate));
            CHECK_OK(norn_await(rt, last, FOREVER));
            CHECK_EQUAL(ran, length);
            CHECK_OK(norn_close(rt));
        } else if (way == CANCEL) {
            CHECK_OK(norn_cancel(rt, head));
            CHECK_STATUS(norn_await(rt, last, FOREVER), NORN_E_PROPAGATED);
            CHECK_EQUAL(dropped, length);
            CHECK_OK(norn_fulfill(rt, gate));
            CHECK_OK(norn_close(rt));
        } else {
            /* Not one of them ever runs. */
            norn_close_with(rt, way == CLOSE ? NORN_DRAIN : NORN_CANCEL, FOREVER);
            CHECK_EQUAL(dropped, length);
        }
    }
    return NULL;
}

int main(void) {
    length = scaled(200000, 10000000);
    pthread_attr_t attributes;
    pthread_t thread;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, 512 * 1024) == 0);
    CHECK(pthread_create(&thread, &attributes, on_small_stack, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    pthread_attr_destroy(&attributes);
    return 0;
}
