/* threads PATH [quiet]: many threads load at once, from a good and a bad path; each that succeeded may call at once, and
 * the reason of a failure belongs to its thread. quiet: call nothing that starts threads, for the thread sanitizer, which
 * does not know what an uninstrumented library synchronises. */
#include "expect.h"

enum { THREADS = 16 };
static pthread_barrier_t together;
static const char *good;
static int quiet;

static void *load_and_use(void *wants_bad) {
    norn_status status;
    norn_runtime *rt;
    int32_t major, minor, patch;
    pthread_barrier_wait(&together);
    status = norn_dl_load(wants_bad != NULL ? "/nowhere/libnorn.so.0" : good);
    /* A bad path is no failure where another thread was faster. */
    EXPECT(status == NORN_OK || (wants_bad != NULL && status == NORN_E_UNSUPPORTED));
    EXPECT((status == NORN_OK) == (norn_dl_error()[0] == 0));
    if (status != NORN_OK) EXPECT_STATUS(norn_dl_load(good), NORN_OK);
    EXPECT_STATUS(norn_version(&major, &minor, &patch), NORN_OK);
    if (quiet) return NULL;
    EXPECT(norn_dl_missing(0) == NULL);
    rt = open_one();
    two_tasks(rt);
    EXPECT_STATUS(norn_close(rt), NORN_OK);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    EXPECT(argc >= 2);
    good = argv[1];
    quiet = argc > 2;
    EXPECT_STATUS(norn_dl_load("/nowhere/libnorn.so.0"), NORN_E_UNSUPPORTED);
    EXPECT(pthread_barrier_init(&together, NULL, THREADS) == 0);
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, load_and_use, i % 4 == 0 ? &together : NULL) == 0);
    for (int i = 0; i < THREADS; i++) EXPECT(pthread_join(threads[i], NULL) == 0);
    EXPECT(strstr(norn_dl_error(), "/nowhere") != NULL);
    return 0;
}
