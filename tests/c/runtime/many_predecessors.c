/* Any number of predecessors and successors, by token and by data. */
#include "check.h"

static atomic_int ran;
static int32_t expect_ran(norn_self *self, void *arg) {
    (void)self;
    CHECK_EQUAL(ran, *(int *)arg);
    return 0;
}

int main(void) {
    norn_runtime *rt = open_plain();
    const int counts[] = {1, 2, 10, 11, 1000, 10000, 100000};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        int count = counts[i];
        const int64_t begin = now_ns();
        norn_token *tokens = malloc((size_t)count * sizeof *tokens);

        /* One after many, by tokens. */
        atomic_store(&ran, 0);
        norn_token gate = promised(rt, "gate");
        for (int k = 0; k < count; k++) tokens[k] = submit_after(rt, body_count, &ran, gate);
        norn_task task = task_of(expect_ran, &count);
        task.after = tokens;
        task.after_count = (uint64_t)count;
        norn_token last = submit(rt, &task);
        CHECK_OK(norn_fulfill(rt, gate)); /* which has as many successors */
        CHECK_OK(norn_await(rt, last, FOREVER));

        /* One writer after many readers. */
        atomic_store(&ran, 0);
        norn_data data = pure_name(rt, "d");
        gate = promised(rt, "gate");
        submit_on_after(rt, body_nothing, NULL, norn_write(data), gate);
        for (int k = 0; k < count; k++) submit_on(rt, body_count, &ran, norn_read(data));
        last = submit_on(rt, expect_ran, &count, norn_update(data));
        CHECK_OK(norn_fulfill(rt, gate));
        CHECK_OK(norn_await(rt, last, FOREVER));
        CHECK_OK(norn_data_unregister(rt, data));

        /* One after many by edges, held until all are there. */
        atomic_store(&ran, 0);
        for (int k = 0; k < count; k++) tokens[k] = submit_run(rt, body_count, &ran);
        task = task_of(expect_ran, &count);
        task.flags = NORN_HELD;
        last = submit(rt, &task);
        for (int k = 0; k < count; k++) CHECK_OK(norn_edge(rt, tokens[k], last));
        CHECK_OK(norn_start(rt, last));
        CHECK_OK(norn_await(rt, last, FOREVER));
        free(tokens);
        printf("%6d: %8.3f ms\n", count, (double)(now_ns() - begin) * 1e-6);
    }
    CHECK_OK(norn_close(rt));
    return 0;
}
