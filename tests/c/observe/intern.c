/* Interned names live as long as the runtime, and the same text gives the same pointer. */
#include "check.h"

int main(void) {
    norn_runtime *rt = open_plain();
    char text[32];
    const char *names[200], *again;
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "task %d", i);
        CHECK_OK(norn_intern(rt, text, &names[i]));
        CHECK(names[i] != text);
    }
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (int i = 0; i < 200; i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "task %d", i);
        CHECK(strcmp(names[i], expected) == 0);
        CHECK_OK(norn_intern(rt, expected, &again));
        CHECK(again == names[i]);
    }
    CHECK_OK(norn_intern(rt, "", &again));
    CHECK(again[0] == 0);
    CHECK_STATUS(norn_intern(rt, NULL, &again), NORN_E_INVALID);
    CHECK_STATUS(norn_intern(rt, "x", NULL), NORN_E_INVALID);

    norn_task task = task_of(body_fail, NULL);
    task.name = names[123];
    norn_token token = submit(rt, &task);
    CHECK_STATUS(norn_await(rt, token, FOREVER), NORN_E_TASK_FAILED);
    CHECK(strcmp(record_of(rt, token).task, "task 123") == 0);
    CHECK_OK(norn_close(rt));
    return 0;
}
