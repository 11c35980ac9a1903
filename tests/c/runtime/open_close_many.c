/* A runtime may be opened and closed thousands of times; nothing is left behind. */
#include "check.h"

#include <dirent.h>

static int entries(const char *path) {
    int count = 0;
    DIR *directory = opendir(path);
    CHECK(directory != NULL);
    while (readdir(directory) != NULL) count++;
    closedir(directory);
    return count;
}

int main(void) {
    atomic_int ran = 0;
    const int cycles = (int)scaled(300, 5000);
    int threads_early = 0, files_early = 0;
    long resident_early = 0;
    norn_runtime *old = NULL;
    for (int i = 0; i < cycles; i++) {
        norn_runtime *rt = open_workers(i % 4);
        CHECK(rt != old); /* an old handle never comes back at once */
        if (i % 3 == 0) submit_run(rt, body_count, &ran);
        CHECK_OK(i % 5 ? norn_close(rt) : norn_close_with(rt, NORN_DRAIN, FOREVER));
        CHECK_STATUS(norn_progress(rt), NORN_E_INVALID);
        if (old != NULL) CHECK_STATUS(norn_close(old), NORN_E_INVALID);
        old = rt;
        if (i == cycles / 5) {
            threads_early = entries("/proc/self/task");
            files_early = entries("/proc/self/fd");
            resident_early = resident_kib();
        }
    }
    CHECK_EQUAL(ran, (cycles + 2) / 3);
    CHECK(entries("/proc/self/task") <= threads_early);
    CHECK(entries("/proc/self/fd") <= files_early);
    CHECK(resident_kib() <= resident_early + resident_early / 5 + 4096);
    return 0;
}
