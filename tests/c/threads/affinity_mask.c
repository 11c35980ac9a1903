/* The number of workers and every thread's mask stay within the mask the process was launched with. */
#include "check.h"

#include <dirent.h>
#include <sched.h>

static cpu_set_t allowed;
static int32_t check_mask(norn_self *self, void *arg) {
    cpu_set_t mine, outside;
    (void)self;
    (void)arg;
    CHECK(sched_getaffinity(0, sizeof mine, &mine) == 0);
    CPU_AND(&outside, &mine, &allowed);
    CHECK(CPU_EQUAL(&outside, &mine));
    sleep_ns(100000);
    return 0;
}
static void check_all_threads(void) {
    DIR *directory = opendir("/proc/self/task");
    CHECK(directory != NULL);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        const int id = atoi(entry->d_name);
        cpu_set_t mask, both;
        if (id <= 0 || sched_getaffinity(id, sizeof mask, &mask) != 0) continue;
        CPU_AND(&both, &mask, &allowed);
        CHECK(CPU_EQUAL(&both, &mask));
    }
    closedir(directory);
}

int main(void) {
    cpu_set_t whole, after;
    CHECK(sched_getaffinity(0, sizeof whole, &whole) == 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &whole)) continue;
        CPU_ZERO(&allowed);
        CPU_SET(cpu, &allowed);
        CHECK(sched_setaffinity(0, sizeof allowed, &allowed) == 0);
        for (int pin = 0; pin < 2; pin++) {
            norn_config config = NORN_CONFIG_INIT;
            config.flags = pin ? NORN_PIN : 0;
            norn_runtime *rt = open_with(&config);
            CHECK_EQUAL(stats_of(rt).workers, 1);
            for (int i = 0; i < 50; i++) submit_run(rt, check_mask, NULL);
            check_all_threads();
            CHECK_OK(norn_close(rt));
            CHECK(sched_getaffinity(0, sizeof after, &after) == 0);
            CHECK(CPU_EQUAL(&after, &allowed)); /* the opener keeps its own */
        }
        /* More workers than cores may be asked for, outside the mask they may not go. */
        norn_runtime *rt = open_workers(3);
        for (int i = 0; i < 50; i++) submit_run(rt, check_mask, NULL);
        check_all_threads();
        CHECK_OK(norn_close(rt));
        if (CPU_COUNT(&whole) > 1) {
            norn_config config = NORN_CONFIG_INIT;
            char list[32];
            int other = 0;
            while (other == cpu || !CPU_ISSET(other, &whole)) other++;
            snprintf(list, sizeof list, "%d", other);
            config.cpus = list;
            norn_runtime *none = NULL;
            CHECK_STATUS(norn_open(&config, &none), NORN_E_CONFIG);
        }
        CHECK(sched_setaffinity(0, sizeof whole, &whole) == 0);
        if (cpu > 8) break;
    }

    /* The default is at most the mask, and `cpus` narrows it. */
    norn_runtime *rt = open_plain();
    CHECK(stats_of(rt).workers >= 1 && stats_of(rt).workers <= CPU_COUNT(&whole));
    CHECK_OK(norn_close(rt));
    norn_config config = NORN_CONFIG_INIT;
    char list[32];
    int first = 0;
    while (!CPU_ISSET(first, &whole)) first++;
    snprintf(list, sizeof list, "%d-%d", first, first);
    config.cpus = list;
    CPU_ZERO(&allowed);
    CPU_SET(first, &allowed);
    rt = open_with(&config);
    CHECK_EQUAL(stats_of(rt).workers, 1);
    for (int i = 0; i < 50; i++) submit_run(rt, check_mask, NULL);
    CHECK_OK(norn_close(rt));
    return 0;
}
