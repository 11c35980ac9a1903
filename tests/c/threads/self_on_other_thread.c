/* What a body knows of itself is for its own thread and its own time only. */
#include "check.h"

static norn_runtime *rt;
static norn_self *left_behind;
static void *other(void *arg) {
    norn_self_info info = NORN_SELF_INFO_INIT;
    CHECK_STATUS(norn_self_get(arg, &info), NORN_E_THREAD);
    CHECK_STATUS(norn_self_hold(arg, 1), NORN_E_THREAD);
    return NULL;
}
static int32_t body(norn_self *self, void *arg) {
    norn_self_info info = NORN_SELF_INFO_INIT;
    pthread_t thread;
    (void)arg;
    CHECK_OK(norn_self_get(self, &info));
    CHECK(info.runtime == rt);
    CHECK_EQUAL(info.struct_size, sizeof info);
    CHECK(info.stream == NULL);
    CHECK_EQUAL(info.cancelled, 0);
    CHECK(pthread_create(&thread, NULL, other, self) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    left_behind = self;
    return 0;
}
static int32_t use_stale(norn_self *self, void *arg) {
    norn_self_info info = NORN_SELF_INFO_INIT;
    (void)arg;
    if (self != left_behind) CHECK_ERROR(norn_self_get(left_behind, &info));
    return 0;
}

int main(void) {
    rt = open_plain();
    norn_self_info info = NORN_SELF_INFO_INIT;
    CHECK_OK(norn_await(rt, submit_run(rt, body, NULL), FOREVER));
    CHECK_ERROR(norn_self_get(left_behind, &info)); /* the body is over */
    CHECK_OK(norn_await(rt, submit_run(rt, use_stale, NULL), FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}
