/* Without workers bodies run on the application's thread, inside its awaits, drains and progress calls only. */
#include "check.h"

static long runner;
static int32_t note_thread(norn_self *self, void *arg) {
    norn_self_info info = NORN_SELF_INFO_INIT;
    CHECK_OK(norn_self_get(self, &info));
    CHECK(info.worker >= -1 && info.worker <= 0);
    runner = thread_id();
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

int main(void) {
    norn_runtime *rt = open_workers(0);
    atomic_int ran = 0;
    CHECK_EQUAL(stats_of(rt).workers, 0);
    norn_token tokens[6];
    for (int i = 0; i < 6; i++) tokens[i] = submit_run(rt, note_thread, &ran);
    sleep_ms(30);
    CHECK_EQUAL(ran, 0);
    for (int i = 0; i < 6; i++) CHECK(!is_done(rt, tokens[i])); /* asking runs nothing */
    CHECK_EQUAL(ran, 0);
    const norn_status looked = norn_await(rt, tokens[0], 0);
    CHECK(looked == NORN_OK || looked == NORN_E_TIMEOUT);
    PROGRESS_UNTIL(rt, ran >= 1);
    CHECK_EQUAL(runner, thread_id());
    runner = 0;
    CHECK_OK(norn_await(rt, tokens[5], FOREVER));
    CHECK(runner == thread_id() || ran == 6);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(ran, 6);

    /* Data and groups make progress in their own waits. */
    int value = 0;
    norn_data data = DATUM(rt, value);
    norn_access access = norn_read(data);
    norn_token hold;
    submit_on(rt, note_thread, &ran, norn_update(data));
    CHECK_OK(norn_data_acquire(rt, &access, 1, FOREVER, &hold));
    CHECK_EQUAL(ran, 7);
    CHECK_OK(norn_data_release(rt, hold));
    submit_on(rt, note_thread, &ran, norn_update(data));
    CHECK_OK(norn_data_unregister(rt, data));
    CHECK_EQUAL(ran, 8);
    submit_run(rt, note_thread, &ran);
    CHECK_OK(norn_close(rt)); /* and so does close */
    CHECK_EQUAL(ran, 9);
    CHECK_EQUAL(runner, thread_id());
    return 0;
}
