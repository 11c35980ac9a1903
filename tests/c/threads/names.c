/* norn's threads are named after their workers. */
#include "check.h"

static int32_t check_name(norn_self *self, void *arg) {
    norn_self_info info = NORN_SELF_INFO_INIT;
    char name[32] = "", expected[32];
    (void)arg;
    CHECK_OK(norn_self_get(self, &info));
    CHECK(pthread_getname_np(pthread_self(), name, sizeof name) == 0);
    snprintf(expected, sizeof expected, "norn:w%d", (int)info.worker);
    CHECK(strcmp(name, expected) == 0);
    return 0;
}

int main(void) {
    norn_runtime *rt = open_workers(3);
    for (int i = 0; i < 300; i++) {
        norn_task task = task_of(check_name, NULL);
        task.place = norn_place_of(NORN_PLACE_CPU, i % 3);
        submit(rt, &task);
    }
    CHECK_OK(norn_drain(rt, FOREVER));
    char mine[32];
    CHECK(pthread_getname_np(pthread_self(), mine, sizeof mine) == 0);
    CHECK(strncmp(mine, "norn:", 5) != 0); /* the application's threads keep theirs */
    CHECK_OK(norn_close(rt));
    return 0;
}
