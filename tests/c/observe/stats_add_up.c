/* The counters add up when the runtime is quiet. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    norn_runtime_stats stats = stats_of(rt);
    CHECK_EQUAL(stats.struct_size, sizeof stats);
    CHECK_EQUAL(stats.submitted, 0);
    CHECK_EQUAL(stats.live, 0);
    norn_token gate = promised(rt, "gate");
    int value = 0;
    norn_data data = DATUM(rt, value);
    for (int i = 0; i < 1000; i++) submit_on(rt, body_nothing, NULL, norn_update(data));
    norn_token failed = submit_after(rt, body_fail, NULL, gate);
    for (int i = 0; i < 10; i++) submit_after(rt, body_must_not_run, NULL, failed);
    for (int i = 0; i < 5; i++) CHECK_OK(norn_cancel(rt, submit_after(rt, body_must_not_run, NULL, gate)));
    stats = stats_of(rt);
    CHECK_EQUAL(stats.submitted, 1016);
    CHECK(stats.live >= 11 && stats.live <= 1011);
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_drain(rt, FOREVER));
    stats = stats_of(rt);
    CHECK_EQUAL(stats.submitted, 1016);
    CHECK_EQUAL(stats.completed, 1016);
    CHECK_EQUAL(stats.failed, 1);
    CHECK_EQUAL(stats.propagated, 10);
    CHECK_EQUAL(stats.cancelled, 5);
    CHECK_EQUAL(stats.live, 0);
    CHECK_EQUAL(stats.data, 1);
    CHECK_EQUAL(stats.blocked_bodies, 0);
    CHECK(stats.edges >= 16);
    CHECK(stats.memory_bytes > 0);
    CHECK(stats.sampled_bodies <= 1001);
    CHECK(stats.threads >= stats.workers || runs_inside_calls_only(rt));
    CHECK_STATUS(norn_await(rt, failed, FOREVER), NORN_E_TASK_FAILED);
    CHECK_OK(norn_close(rt));
    return 0;
}
