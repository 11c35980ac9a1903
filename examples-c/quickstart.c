/* Three tasks, an edge, an await: two factors in any order, then their product. */
#include <norn.h>
#include <stdio.h>
#include <stdlib.h>

static void must(norn_status status) {
    if (status != NORN_OK) {
        fprintf(stderr, "quickstart: %s: %s\n", norn_status_name(status), norn_last_error());
        exit(EXIT_FAILURE);
    }
}

static int32_t six(norn_self *self, void *n)   { (void)self; ((int *)n)[0] = 6; return 0; }
static int32_t seven(norn_self *self, void *n) { (void)self; ((int *)n)[1] = 7; return 0; }
static int32_t times(norn_self *self, void *n) { (void)self; ((int *)n)[2] = ((int *)n)[0] * ((int *)n)[1]; return 0; }

int main(void) {
    int n[3] = {0};
    norn_runtime *rt;
    norn_token factors[2], product;
    must(norn_open(NULL, &rt));

    norn_task task = NORN_TASK_INIT;
    task.arg = n;
    task.run = six;
    must(norn_submit(rt, &task, &factors[0]));
    task.run = seven;
    must(norn_submit(rt, &task, &factors[1]));
    task.run = times;
    task.after = factors; /* the edge: after both */
    task.after_count = 2;
    must(norn_submit(rt, &task, &product));

    must(norn_await(rt, product, -1));
    printf("%d x %d = %d\n", n[0], n[1], n[2]);
    must(norn_close(rt));
}
