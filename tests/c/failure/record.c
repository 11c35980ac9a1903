/* The record of a failed task has its code, text, name and token; the process and the runtime live on. */
#include "check.h"

static int32_t with_text(norn_self *self, void *arg) {
    (void)arg;
    return norn_self_fail(self, 7, "pivot is zero");
}
static int32_t code_only(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    return -123456;
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_task task = task_of(with_text, NULL);
    task.name = "factorise";
    norn_token failed = submit(rt, &task);
    CHECK_STATUS(norn_await(rt, failed, FOREVER), NORN_E_TASK_FAILED);
    CHECK_SAYS("factorise");
    CHECK_SAYS("pivot is zero");

    norn_error_info info = record_of(rt, failed);
    CHECK_EQUAL(info.struct_size, sizeof info);
    CHECK_EQUAL(info.status, NORN_E_TASK_FAILED);
    CHECK_EQUAL(info.cause_status, NORN_E_TASK_FAILED);
    CHECK_EQUAL(info.code, 7);
    CHECK(info.token.id == failed.id && info.cause.id == failed.id);
    CHECK(strcmp(info.task, "factorise") == 0);
    CHECK(strcmp(info.operation, "body") == 0);
    CHECK(strcmp(info.text, "pivot is zero") == 0);
    CHECK_EQUAL(info.rank, -1);
    CHECK_EQUAL(info.device, -1);
    norn_runtime_stats stats = stats_of(rt);
    CHECK(info.worker >= -1 && info.worker < (stats.workers > 0 ? stats.workers : 1));

    norn_token bare = submit_run(rt, code_only, NULL);
    CHECK_STATUS(norn_await(rt, bare, FOREVER), NORN_E_TASK_FAILED);
    info = record_of(rt, bare);
    CHECK_EQUAL(info.code, -123456);
    CHECK(info.task[0] == 0);

    norn_token fine = submit_run(rt, body_nothing, NULL);
    CHECK_OK(norn_await(rt, fine, FOREVER));
    info = record_of(rt, fine);
    CHECK_EQUAL(info.status, NORN_OK);
    CHECK_EQUAL(info.code, 0);
    CHECK(info.token.id == fine.id);
    CHECK_OK(norn_close(rt));
    return 0;
}
