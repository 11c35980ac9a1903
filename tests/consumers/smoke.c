/* What every consumer project builds, as C and (through smoke.cpp) as C++: two
 * tasks, an edge, an await. */
#include <norn.h>
#include <stdio.h>

static int ran;

static int32_t count(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    ran++;
    return 0;
}

static int failed(const char *call, norn_status status) {
    if (status == NORN_OK) return 0;
    fprintf(stderr, "%s: %s: %s\n", call, norn_status_name(status), norn_last_error());
    return 1;
}

int main(void) {
    norn_runtime *rt;
    norn_token first, second;
    norn_config config = NORN_CONFIG_INIT;
    norn_task task = NORN_TASK_INIT;

    config.workers = 1;
    if (failed("norn_open", norn_open(&config, &rt))) return 1;
    task.run = count;
    if (failed("norn_submit", norn_submit(rt, &task, &first))) return 1;
    task.after = &first;
    task.after_count = 1;
    if (failed("norn_submit", norn_submit(rt, &task, &second))) return 1;
    if (failed("norn_await", norn_await(rt, second, -1))) return 1;
    if (failed("norn_close", norn_close(rt))) return 1;
    if (ran != 2) {
        fprintf(stderr, "%d of 2 tasks ran\n", ran);
        return 1;
    }
    return 0;
}
