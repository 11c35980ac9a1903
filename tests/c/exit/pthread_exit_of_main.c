/* The opener's thread may end while the runtime goes on in another thread. */
#include "check.h"

static norn_runtime *rt;
static atomic_int ran;
static void *go_on(void *arg) {
    pthread_join(*(pthread_t *)arg, NULL);
    for (int i = 0; i < 100; i++) submit_run(rt, body_count, &ran);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_OK(norn_close(rt));
    CHECK_EQUAL(ran, 100);
    exit(0);
}
int main(void) {
    static pthread_t main_thread;
    pthread_t thread;
    main_thread = pthread_self();
    rt = open_plain();
    CHECK(pthread_create(&thread, NULL, go_on, &main_thread) == 0);
    pthread_exit(NULL);
}
