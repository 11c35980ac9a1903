/* NORN_COPY_ARG copies up to 64 bytes at submit; the body and drop see the copy. */
#include "check.h"

typedef struct argument {
    int id;
    unsigned char filler[60];
} argument;
static atomic_int ran, dropped;

static void verify(const argument *mine) {
    CHECK(mine->id >= 0 && mine->id < 100);
    for (size_t i = 0; i < sizeof mine->filler; i++) CHECK_EQUAL(mine->filler[i], (unsigned char)(mine->id + (int)i));
}
static int32_t body(norn_self *self, void *arg) {
    (void)self;
    verify(arg);
    ((argument *)arg)->filler[0]++; /* ours to change */
    atomic_fetch_add(&ran, 1);
    return 0;
}
static void drop(void *arg) {
    ((argument *)arg)->filler[0]--;
    verify(arg);
    atomic_fetch_add(&dropped, 1);
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_token gate = promised(rt, "gate");
    argument shared;
    norn_task task = task_of(body, &shared);
    CHECK_EQUAL(sizeof shared, 64);
    task.drop = drop;
    task.flags = NORN_COPY_ARG;
    task.arg_bytes = sizeof shared;
    task.after = &gate;
    task.after_count = 1;
    for (int i = 0; i < 100; i++) {
        shared.id = i;
        for (size_t k = 0; k < sizeof shared.filler; k++) shared.filler[k] = (unsigned char)(i + (int)k);
        submit(rt, &task);
    }
    memset(&shared, 0xff, sizeof shared);

    task.arg_bytes = 65;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_INVALID);
    task.arg_bytes = 8;
    task.arg = NULL;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_INVALID);
    task.arg = &shared;
    task.flags = 0; /* bytes to copy, but not asked to copy */
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_INVALID);

    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_close(rt));
    CHECK_EQUAL(ran, 100);
    CHECK_EQUAL(dropped, 100);
    return 0;
}
