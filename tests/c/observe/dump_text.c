/* The text dump names every token that is not complete and what it waits for. */
#include "check.h"

static char text[1 << 16];
static size_t length;
static int32_t collect(void *arg, const char *piece, uint64_t bytes) {
    CHECK(arg == text);
    CHECK(length + bytes < sizeof text);
    memcpy(text + length, piece, bytes);
    length += bytes;
    return 0;
}
static int32_t stop(void *arg, const char *piece, uint64_t bytes) {
    (void)piece;
    (void)bytes;
    return ++*(int *)arg;
}
/* Whether one line speaks of both. */
static int line_says(const char *name, const char *other) {
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        char line[4096];
        size_t bytes = strcspn(at, "\n");
        if (bytes >= sizeof line) bytes = sizeof line - 1;
        memcpy(line, at, bytes);
        line[bytes] = 0;
        if (strstr(line, name) != NULL && strstr(line, other) != NULL) return 1;
    }
    return 0;
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token inbox = promised(rt, "inbox"), missing = declared(rt, "missing producer");
    norn_task task = task_of(body_nothing, NULL);
    norn_token both[2] = {inbox, missing};
    int value = 0;
    norn_data data = datum_of(rt, &value, sizeof value, "pressure");
    norn_access access = norn_write(data);
    task.name = "solver";
    task.after = both;
    task.after_count = 2;
    task.accesses = &access;
    task.access_count = 1;
    norn_token solver = submit(rt, &task);
    task = task_of(body_nothing, NULL);
    access = norn_read(data);
    task.name = "printer";
    task.accesses = &access;
    task.access_count = 1;
    norn_token printer = submit(rt, &task);
    task = task_of(body_nothing, NULL);
    task.name = "sleeper";
    task.flags = NORN_HELD;
    norn_token sleeper = submit(rt, &task);
    task.flags = 0;
    task.name = "finished one";
    CHECK_OK(norn_await(rt, submit(rt, &task), FOREVER));

    /* A token shows complete a moment before its task is out of the tables. */
    do {
        length = 0;
        memset(text, 0, sizeof text);
        CHECK_OK(norn_dump(rt, NORN_DUMP_TEXT, collect, text));
    } while (strstr(text, "finished one") != NULL);
    CHECK_TEXT(text, "solver");
    CHECK_TEXT(text, "printer");
    CHECK(line_says("solver", "inbox"));
    CHECK(line_says("solver", "missing producer"));
    CHECK(line_says("printer", "pressure") || line_says("printer", "solver"));
    CHECK_TEXT(text, "sleeper");
    CHECK(strstr(text, "finished one") == NULL);

    int calls = 0;
    CHECK_STATUS(norn_dump(rt, NORN_DUMP_TEXT, stop, &calls), NORN_E_SYSTEM);
    CHECK_EQUAL(calls, 1);
    CHECK_STATUS(norn_dump(rt, 77, collect, text), NORN_E_INVALID);

    CHECK_OK(norn_start(rt, sleeper));
    CHECK_OK(norn_fulfill(rt, inbox));
    CHECK_OK(norn_cancel(rt, missing));
    CHECK_STATUS(norn_await(rt, solver, FOREVER), NORN_E_PROPAGATED);
    CHECK_STATUS(norn_await(rt, printer, FOREVER), NORN_E_PROPAGATED);
    CHECK_OK(norn_drain(rt, FOREVER));
    length = 0;
    memset(text, 0, sizeof text);
    CHECK_OK(norn_dump(rt, NORN_DUMP_TEXT, collect, text)); /* of nothing */
    CHECK(strstr(text, "solver") == NULL);
    CHECK_OK(norn_close(rt));
    return 0;
}
