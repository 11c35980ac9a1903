/* The operands of a REDUCE are combined in order: the operation need not commute. */
#include "check.h"

enum { TASKS = 100 };
typedef struct text {
    int length;
    char chars[256];
} text;
static text whole;
static norn_runtime *rt;
static norn_data data;
static char letters[TASKS];

static void empty(void *copy, uint64_t bytes, void *arg) {
    (void)arg;
    memset(copy, 0, bytes);
}
static void append(void *into, const void *from, uint64_t bytes, void *arg) {
    text *left = into;
    const text *right = from;
    (void)bytes;
    (void)arg;
    memcpy(left->chars + left->length, right->chars, (size_t)right->length);
    left->length += right->length;
}
static int32_t append_letter(norn_self *self, void *arg) {
    void *copy;
    (void)self;
    CHECK_OK(norn_data_pointer(rt, data, &copy, NULL));
    text *mine = copy;
    mine->chars[mine->length++] = *(char *)arg;
    return 0;
}

int main(void) {
    rt = open_plain();
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    desc.ptr = &whole;
    desc.bytes = sizeof whole;
    desc.reduce.identity = empty;
    desc.reduce.combine = append;
    whole.length = 1;
    whole.chars[0] = '>';
    CHECK_OK(norn_data_register(rt, &desc, &data));
    for (int i = 0; i < TASKS; i++) {
        letters[i] = (char)('!' + i % 90);
        submit_on(rt, append_letter, &letters[i], norn_reduce_into(data));
    }
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(whole.length, TASKS + 1);
    CHECK_EQUAL(whole.chars[0], '>');
    for (int i = 0; i < TASKS; i++) CHECK_EQUAL(whole.chars[i + 1], letters[i]);
    CHECK_OK(norn_close(rt));
    return 0;
}
