/* Names and texts that are too long for the record are cut, never overrun. */
#include "check.h"

static char long_name[300], long_text[2000];
static int32_t body(norn_self *self, void *arg) {
    (void)arg;
    return norn_self_fail(self, 1, long_text);
}
static int32_t no_text(norn_self *self, void *arg) {
    (void)arg;
    return norn_self_fail(self, 2, NULL);
}

int main(void) {
    memset(long_name, 'n', sizeof long_name - 1);
    memset(long_text, 't', sizeof long_text - 1);
    norn_runtime *rt = open_plain();
    norn_task task = task_of(body, NULL);
    task.name = long_name;
    norn_token token = submit(rt, &task);
    CHECK_STATUS(norn_await(rt, token, FOREVER), NORN_E_TASK_FAILED);
    struct {
        norn_error_info info;
        unsigned char guard[64];
    } guarded;
    memset(&guarded, 0xa5, sizeof guarded);
    guarded.info.struct_size = sizeof guarded.info;
    CHECK_OK(norn_error(rt, token, &guarded.info));
    CHECK_EQUAL(strnlen(guarded.info.task, sizeof guarded.info.task), sizeof guarded.info.task - 1);
    CHECK_EQUAL(strnlen(guarded.info.text, sizeof guarded.info.text), sizeof guarded.info.text - 1);
    CHECK(strncmp(guarded.info.text, long_text, sizeof guarded.info.text - 1) == 0);
    for (size_t i = 0; i < sizeof guarded.guard; i++) CHECK_EQUAL(guarded.guard[i], 0xa5);

    token = submit_run(rt, no_text, NULL);
    CHECK_STATUS(norn_await(rt, token, FOREVER), NORN_E_TASK_FAILED);
    CHECK_EQUAL(record_of(rt, token).code, 2);
    CHECK_OK(norn_close(rt));
    return 0;
}
