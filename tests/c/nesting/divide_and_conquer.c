/* Tasks that submit tasks, in a wide and deep tree, from inside all workers at once. */
#include "check.h"

enum { SIZE = 1 << 15, LEAF = 64 };
static norn_runtime *rt;
static int64_t numbers[SIZE];
static _Atomic int64_t total;
typedef struct range {
    int begin, end;
} range;
static int32_t sum(norn_self *self, void *arg) {
    range mine = *(range *)arg;
    (void)self;
    while (mine.end - mine.begin > LEAF) {
        range right = {mine.begin + (mine.end - mine.begin) / 2, mine.end};
        norn_task task = task_of(sum, &right);
        task.flags = NORN_CHILD | NORN_COPY_ARG;
        task.arg_bytes = sizeof right;
        submit(rt, &task);
        mine.end = right.begin;
    }
    int64_t mine_sum = 0;
    for (int i = mine.begin; i < mine.end; i++) mine_sum += numbers[i];
    atomic_fetch_add(&total, mine_sum);
    return 0;
}

int main(void) {
    rt = open_plain();
    int64_t expected = 0;
    for (int i = 0; i < SIZE; i++) {
        numbers[i] = (int64_t)i * i % 1009;
        expected += numbers[i];
    }
    range all = {0, SIZE};
    for (int round = 0; round < 20; round++) {
        atomic_store(&total, 0);
        CHECK_OK(norn_await(rt, submit_run(rt, sum, &all), FOREVER));
        CHECK_EQUAL(total, expected);
    }
    CHECK_OK(norn_close(rt));
    return 0;
}
