/* A close with NORN_CANCEL ends although tasks that want several workers were ready when it cancelled them. */
#include "check.h"

enum { ROUNDS = 60, TASKS = 200 };

int main(void) {
    for (int round = 0; round < ROUNDS; round++) {
        norn_config config = NORN_CONFIG_INIT;
        config.workers = 8;
        norn_runtime *rt = open_with(&config);
        norn_task task = task_of(body_nothing, NULL);
        for (int i = 0; i < TASKS; i++) {
            task.cpus = i % 3 == 0 ? 2 : 1;
            task.flags = i % 6 == 0 ? NORN_RUN_ALWAYS : 0;
            submit(rt, &task);
        }
        CHECK_OK(norn_close_with(rt, NORN_CANCEL, FOREVER));
    }
    return 0;
}
