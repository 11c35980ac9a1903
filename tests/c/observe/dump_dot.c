/* The Graphviz dump has a node for every live task, edges between them, and survives odd names. */
#include "check.h"

static char text[1 << 18];
static size_t length;
static int32_t collect(void *arg, const char *piece, uint64_t bytes) {
    (void)arg;
    CHECK(length + bytes < sizeof text);
    memcpy(text + length, piece, bytes);
    length += bytes;
    return 0;
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token gate = promised(rt, "gate");
    norn_task task = task_of(body_nothing, NULL);
    task.name = "say \"hi\"\\ to\nall";
    task.after = &gate;
    task.after_count = 1;
    norn_token first = submit(rt, &task);
    task.name = "second";
    task.after = &first;
    submit(rt, &task);
    CHECK_OK(norn_dump(rt, NORN_DUMP_DOT, collect, NULL));
    CHECK_TEXT(text, "digraph");
    CHECK_TEXT(text, "gate");
    CHECK_TEXT(text, "second");
    CHECK_TEXT(text, "->");
    CHECK_TEXT(text, "}");
    /* Quotation marks inside a name are escaped, so all quotes pair up. */
    int quotes = 0, braces = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\\') {
            i++;
            continue;
        }
        if (text[i] == '"') quotes++;
        if (quotes % 2 == 0) braces += (text[i] == '{') - (text[i] == '}');
    }
    CHECK_EQUAL(quotes % 2, 0);
    CHECK_EQUAL(braces, 0);
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_close(rt));
    return 0;
}
