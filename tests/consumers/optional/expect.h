/* What the tests of norn_dl.h share: an assertion that says what it saw, and a graph of two tasks. */
#ifndef EXPECT_H
#define EXPECT_H

#include <norn_dl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(what)                                                                                        \
    do {                                                                                                    \
        if (!(what)) {                                                                                      \
            fprintf(stderr, "%s:%d: not so: %s\nnorn_dl_error: %s\nnorn_last_error: %s\n", __FILE__, __LINE__, \
                    #what, norn_dl_error(), norn_last_error());                                             \
            exit(1);                                                                                        \
        }                                                                                                   \
    } while (0)
#define EXPECT_STATUS(call, wanted)                                                                       \
    do {                                                                                                  \
        norn_status got_ = (call);                                                                        \
        if (got_ != (wanted)) {                                                                           \
            fprintf(stderr, "%s:%d: %s is %s, not %s: %s\n", __FILE__, __LINE__, #call, norn_status_name(got_), \
                    #wanted, norn_last_error());                                                          \
            exit(1);                                                                                      \
        }                                                                                                 \
    } while (0)

static inline int32_t add_one(norn_self *self, void *arg) {
    int value;
    (void)self;
    memcpy(&value, arg, sizeof value);
    value++;
    memcpy(arg, &value, sizeof value);
    return 0;
}

/* Two tasks in a row on a runtime that is open. */
static inline void two_tasks(norn_runtime *rt) {
    int value = 40;
    norn_token first, second;
    norn_task task = NORN_TASK_INIT;
    task.run = add_one;
    task.arg = &value;
    EXPECT_STATUS(norn_submit(rt, &task, &first), NORN_OK);
    task.after = &first;
    task.after_count = 1;
    EXPECT_STATUS(norn_submit(rt, &task, &second), NORN_OK);
    EXPECT_STATUS(norn_await(rt, second, -1), NORN_OK);
    EXPECT(value == 42);
}

static inline norn_runtime *open_one(void) {
    norn_config config = NORN_CONFIG_INIT;
    norn_runtime *rt;
    config.workers = 1;
    EXPECT_STATUS(norn_open(&config, &rt), NORN_OK);
    return rt;
}

#endif
