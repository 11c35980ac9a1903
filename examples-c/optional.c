/* optional.c: a sum over blocks, with norn where it is installed and in a loop where it is not. */
#include <norn_dl.h>
#include <stdio.h>

enum { BLOCKS = 8, LENGTH = 1000 };

typedef struct block { double values[LENGTH], sum; } block;
static block blocks[BLOCKS];

static void sum_up(block *b) {
    b->sum = 0;
    for (int i = 0; i < LENGTH; i++) {
        b->values[i] = i;
        b->sum += b->values[i];
    }
}

static int32_t sum_up_body(norn_self *self, void *b) { (void)self; sum_up(b); return 0; }

static int with_norn(void) {
    norn_runtime *rt;
    norn_token sums[BLOCKS];
    norn_task task = NORN_TASK_INIT;
    if (norn_open(NULL, &rt) != NORN_OK) return 0;
    task.run = sum_up_body;
    for (int b = 0; b < BLOCKS; b++) {
        task.arg = &blocks[b];
        if (norn_submit(rt, &task, &sums[b]) != NORN_OK) sum_up(&blocks[b]), sums[b].id = 0;
    }
    norn_status summed = norn_await_all(rt, sums, BLOCKS, -1);
    return norn_close(rt) == NORN_OK && summed == NORN_OK;
}

int main(void) {
    double total = 0;
    if (norn_dl_load(NULL) != NORN_OK || !with_norn()) {
        fprintf(stderr, "without norn: %s\n", norn_last_error());
        for (int b = 0; b < BLOCKS; b++) sum_up(&blocks[b]);
    }
    for (int b = 0; b < BLOCKS; b++) total += blocks[b].sum;
    printf("sum %.0f\n", total);
}
