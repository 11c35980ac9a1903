/* A failure at the head of a very long chain reaches its end, with the first cause everywhere. */
#include "check.h"

static atomic_int dropped;

int main(void) {
    norn_runtime *rt = open_plain();
    const int64_t length = scaled(100000, 10000000);
    const int64_t kept_every = length / 100;
    norn_token kept[101], gate = promised(rt, "gate"), last;
    int code = 77, kept_count = 0;
    norn_token head = submit_after(rt, body_fail, &code, gate);
    last = head;
    for (int64_t i = 0; i < length; i++) {
        norn_task task = task_of(body_must_not_run, &dropped);
        task.drop = drop_count;
        task.after = &last;
        task.after_count = 1;
        last = submit(rt, &task);
        if (i % kept_every == 0) kept[kept_count++] = last;
    }
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_STATUS(norn_await(rt, last, FOREVER), NORN_E_PROPAGATED);
    for (int i = 0; i < kept_count; i++) {
        norn_error_info info = record_of(rt, kept[i]);
        CHECK_EQUAL(info.status, NORN_E_PROPAGATED);
        CHECK(info.cause.id == head.id);
        CHECK_EQUAL(info.code, 77);
    }
    CHECK_EQUAL(dropped, length);
    CHECK_OK(norn_drain(rt, FOREVER)); /* the counters are exact when it is quiet */
    CHECK_EQUAL(stats_of(rt).propagated, length);
    CHECK_EQUAL(stats_of(rt).failed, 1);
    CHECK_OK(norn_close(rt)); /* its first cause has been looked at */
    return 0;
}
