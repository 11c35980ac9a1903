/* Pieces are joined, again and again, while tasks end that have nothing to do with them. */
#include "check.h"

enum { ROUNDS = 2000, MANY = 6 };

int main(void) {
    static char others[MANY][8], memory[16];
    norn_runtime *rt = open_plain();
    norn_data whole = datum_of(rt, memory, sizeof memory, "whole"), parts[2];
    const norn_piece halves[] = {{0, 8, 1, 0}, {8, 8, 1, 0}};
    norn_access accesses[MANY]; /* more than a node has room for */
    norn_task task = task_of(body_nothing, NULL);
    for (int i = 0; i < MANY; i++) accesses[i] = norn_read(datum_of(rt, others[i], sizeof others[i], "other"));
    task.accesses = accesses;
    task.access_count = MANY;
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_OK(norn_submit(rt, &task, NULL));
        CHECK_OK(norn_data_split(rt, whole, halves, 2, parts));
        CHECK_OK(norn_data_join(rt, whole));
    }
    CHECK_OK(norn_close(rt));
    return 0;
}
