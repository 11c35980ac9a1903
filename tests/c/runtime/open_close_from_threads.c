/* A runtime may be opened in one thread and closed in another, and many threads open their own at once. */
#include "check.h"

static norn_runtime *handed_over;
static atomic_int ran;
static void *opener(void *arg) {
    (void)arg;
    handed_over = open_plain();
    submit_run(handed_over, body_count, &ran);
    return NULL;
}
static void *closer(void *arg) {
    (void)arg;
    CHECK_OK(norn_close(handed_over));
    return NULL;
}
static void *own(void *arg) {
    (void)arg;
    for (int i = 0; i < 20; i++) {
        norn_runtime *rt = open_workers(i % 3);
        for (int k = 0; k < 10; k++) submit_run(rt, body_count, &ran);
        CHECK_OK(norn_close(rt));
    }
    return NULL;
}

int main(void) {
    pthread_t threads[8];
    for (int i = 0; i < 10; i++) {
        CHECK(pthread_create(&threads[0], NULL, opener, NULL) == 0);
        CHECK(pthread_join(threads[0], NULL) == 0);
        CHECK(pthread_create(&threads[0], NULL, closer, NULL) == 0);
        CHECK(pthread_join(threads[0], NULL) == 0);
    }
    CHECK_EQUAL(ran, 10);
    for (int i = 0; i < 8; i++) CHECK(pthread_create(&threads[i], NULL, own, NULL) == 0);
    for (int i = 0; i < 8; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK_EQUAL(ran, 10 + 8 * 20 * 10);
    return 0;
}
