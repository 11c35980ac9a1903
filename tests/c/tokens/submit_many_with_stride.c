/* The distance between the tasks of norn_submit_many is the first one's struct_size: programs of newer headers work. */
#include "check.h"

typedef struct newer_task {
    norn_task task;
    uint64_t field_of_the_future;
} newer_task;
static trace order;

int main(void) {
    norn_runtime *rt = open_plain();
    int value;
    norn_access access = norn_update(DATUM(rt, value));
    newer_task tasks[10];
    step steps[10];
    norn_token tokens[10];
    memset(tasks, 0, sizeof tasks);
    for (int i = 0; i < 10; i++) {
        steps[i] = (step){&order, i};
        tasks[i].task = task_of(body_step, &steps[i]);
        tasks[i].task.struct_size = sizeof(newer_task);
        tasks[i].task.accesses = &access;
        tasks[i].task.access_count = 1;
    }
    CHECK_OK(norn_submit_many(rt, &tasks[0].task, 10, tokens));
    CHECK_OK(norn_await_all(rt, tokens, 10, FOREVER));
    CHECK_EQUAL(order.count, 10);
    for (int i = 0; i < 10; i++) CHECK_EQUAL(order.ids[i], i);

    tasks[3].field_of_the_future = 1; /* asks for what this library cannot know */
    CHECK_STATUS(norn_submit_many(rt, &tasks[0].task, 10, tokens), NORN_E_VERSION);
    CHECK_SAYS("3");
    CHECK_OK(norn_close(rt));
    CHECK_EQUAL(order.count, 10);
    return 0;
}
