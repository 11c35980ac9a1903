/* Pieces may be split again, to any depth, and are joined from the inside out. */
#include "check.h"

enum { SIZE = 64 };
static int values[SIZE];
static int numbers[SIZE];
static int32_t add_1(norn_self *self, void *arg) {
    (void)self;
    values[*(int *)arg]++;
    return 0;
}
static int32_t add_10_to_all(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    for (int i = 0; i < SIZE; i++) values[i] += 10;
    return 0;
}

/* Splits in halves down to single elements and counts each once. */
static void count_down(norn_runtime *rt, norn_data data, int first, int count) {
    if (count == 1) {
        submit_on(rt, add_1, &numbers[first], norn_update(data));
        return;
    }
    const uint64_t half = (uint64_t)count / 2 * sizeof(int);
    norn_piece pieces[2] = {{0, half, 1, 0}, {half, half, 1, 0}};
    norn_data parts[2];
    CHECK_OK(norn_data_split(rt, data, pieces, 2, parts));
    count_down(rt, parts[0], first, count / 2);
    count_down(rt, parts[1], first + count / 2, count / 2);
    if (count == SIZE) {
        CHECK_STATUS(norn_data_join(rt, data), NORN_E_STATE); /* a piece is still split */
        submit_on(rt, add_10_to_all, NULL, norn_update(data)); /* through all the levels */
        count_down(rt, parts[0], first, 1);
    }
}

int main(void) {
    norn_runtime *rt = open_plain();
    norn_data whole = datum_of(rt, values, sizeof values, "whole");
    for (int i = 0; i < SIZE; i++) numbers[i] = i;
    norn_token gate = promised(rt, "gate");
    submit_on_after(rt, add_10_to_all, NULL, norn_update(whole), gate);
    count_down(rt, whole, 0, SIZE);
    CHECK_OK(norn_fulfill(rt, gate));
    CHECK_OK(norn_drain(rt, FOREVER));
    for (int i = 0; i < SIZE; i++) CHECK_EQUAL(values[i], 21 + (i == 0));
    CHECK_OK(norn_data_unregister(rt, whole)); /* ends its pieces with it */

    /* Two levels joined properly. */
    whole = datum_of(rt, values, sizeof values, "whole");
    norn_piece half = {0, sizeof values / 2, 1, 0}, quarter = {0, sizeof values / 4, 1, 0};
    norn_data of_half, of_quarter;
    CHECK_OK(norn_data_split(rt, whole, &half, 1, &of_half)); /* pieces need not cover their parent */
    CHECK_OK(norn_data_split(rt, of_half, &quarter, 1, &of_quarter));
    submit_on(rt, add_1, &numbers[0], norn_update(of_quarter));
    submit_on(rt, add_1, &numbers[0], norn_update(of_half));
    submit_on(rt, add_1, &numbers[0], norn_update(whole));
    CHECK_STATUS(norn_data_join(rt, whole), NORN_E_STATE);
    CHECK_OK(norn_data_join(rt, of_half));
    CHECK_OK(norn_data_join(rt, whole));
    submit_on(rt, add_1, &numbers[0], norn_update(whole));
    CHECK_OK(norn_data_unregister(rt, whole));
    CHECK_EQUAL(values[0], 22 + 4);
    CHECK_OK(norn_close(rt));
    return 0;
}
