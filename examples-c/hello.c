/* hello.c: b = 2 a; the order of the tasks follows from what they read and write. */
#include <norn.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1000 };
static double a[N], b[N];
static int32_t fill(norn_self *self, void *arg)  { (void)self, (void)arg; for (int i = 0; i < N; i++) a[i] = i; return 0; }
static int32_t twice(norn_self *self, void *arg) { (void)self, (void)arg; for (int i = 0; i < N; i++) b[i] = 2 * a[i]; return 0; }
static void must(norn_status status) { if (status != NORN_OK) { puts(norn_last_error()); exit(EXIT_FAILURE); } }

int main(void) {
    norn_runtime *rt;
    must(norn_open(NULL, &rt));

    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data da, db;
    desc.ptr = a, desc.bytes = sizeof a;
    must(norn_data_register(rt, &desc, &da));
    desc.ptr = b, desc.bytes = sizeof b;
    must(norn_data_register(rt, &desc, &db));

    norn_access writes_a[] = {norn_write(da)}, reads_a_writes_b[] = {norn_read(da), norn_write(db)};
    norn_token doubled;
    norn_task task = NORN_TASK_INIT;
    task.run = fill, task.accesses = writes_a, task.access_count = 1;
    must(norn_submit(rt, &task, NULL));
    task.run = twice, task.accesses = reads_a_writes_b, task.access_count = 2;
    must(norn_submit(rt, &task, &doubled));
    must(norn_await(rt, doubled, -1));

    double sum = 0;
    for (int i = 0; i < N; i++) sum += b[i];
    printf("sum %.0f\n", sum);
    must(norn_close(rt));
}
