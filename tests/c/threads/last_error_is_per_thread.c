/* Each thread has its own last text, and success does not erase it. */
#include "check.h"

static norn_runtime *rt;
static void *other(void *arg) {
    (void)arg;
    CHECK(norn_last_error()[0] == 0); /* nothing went wrong here */
    CHECK_STATUS(norn_intern(rt, NULL, NULL), NORN_E_INVALID);
    CHECK(norn_last_error()[0] != 0);
    return NULL;
}

int main(void) {
    CHECK(norn_last_error() != NULL && norn_last_error()[0] == 0);
    rt = open_plain();
    CHECK_STATUS(norn_fulfill(rt, (norn_token){UINT64_MAX}), NORN_E_INVALID);
    char text[512];
    snprintf(text, sizeof text, "%s", norn_last_error());
    CHECK(text[0] != 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, other, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK(strcmp(text, norn_last_error()) == 0);
    CHECK_OK(norn_close(rt));
    return 0;
}
