/* Tasks submitted inside a member belong to its group, also after the group was closed from outside. */
#include "check.h"

static norn_runtime *rt;
static norn_group group;
static atomic_int ran;
static int numbers[6] = {0, 1, 2, 3, 4, 5};
static int32_t member(norn_self *self, void *arg) {
    norn_self_info info = NORN_SELF_INFO_INIT;
    CHECK_OK(norn_self_get(self, &info));
    CHECK(info.group.id == group.id);
    sleep_ms(1);
    if (*(int *)arg < 5)
        for (int i = 0; i < 2; i++) submit_run(rt, member, &numbers[*(int *)arg + 1]);
    atomic_fetch_add(&ran, 1);
    return 0;
}

int main(void) {
    rt = open_plain();
    norn_token done, gate = promised(rt, "gate");
    CHECK_OK(norn_group_open(rt, "group", (norn_group){0}, &group, &done));
    norn_task task = task_of(member, &numbers[0]);
    task.group = group;
    task.after = &gate;
    task.after_count = 1;
    submit(rt, &task);
    CHECK_OK(norn_group_close(rt, group));
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_await(rt, done, FOREVER));
    CHECK_EQUAL(ran, 63);
    CHECK_OK(norn_close(rt));
    return 0;
}
