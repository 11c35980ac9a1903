/* A reserved place is filled by a later task; everything submitted in between comes after it. */
#include "check.h"

static trace order;
static atomic_int dropped;
int main(void) {
    norn_runtime *rt = open_plain();
    norn_data a = pure_name(rt, "a"), b = pure_name(rt, "b");
    step steps[4];
    for (int i = 0; i < 4; i++) steps[i] = (step){&order, i};
    norn_access wanted[2] = {norn_write(a), norn_update(b)};
    uint64_t slots[2] = {0, 0};
    CHECK_OK(norn_reserve(rt, wanted, 2, slots));
    CHECK(slots[0] != 0 && slots[1] != 0 && slots[0] != slots[1]);

    norn_token on_a = submit_on(rt, body_step, &steps[1], norn_read(a));
    norn_token on_b = submit_on_after(rt, body_step, &steps[2], norn_read(b), on_a);
    CHECK_STATUS(norn_await(rt, on_b, 20 * MILLISECOND), NORN_E_TIMEOUT);
    CHECK_EQUAL(order.count, 0);

    /* Another datum, another mode, another number than the reserved: refused, and the places are still there. */
    norn_access wrong[4] = {norn_write(b), norn_read(a), norn_write(a), norn_update(b)};
    wrong[0].slot = slots[0];
    wrong[1].slot = slots[0];
    wrong[2].slot = slots[1];
    wrong[3].slot = slots[0] ^ (UINT64_C(1) << 62);
    for (int i = 0; i < 4; i++) {
        norn_task task = task_of(body_must_not_run, &dropped);
        task.drop = drop_count;
        task.accesses = &wrong[i];
        task.access_count = 1;
        CHECK_ERROR(norn_submit(rt, &task, NULL));
    }

    wanted[0].slot = slots[0];
    wanted[1].slot = slots[1];
    norn_task task = task_of(body_step, &steps[0]);
    task.accesses = wanted;
    task.access_count = 2;
    norn_token filler = submit(rt, &task);
    CHECK_OK(norn_await(rt, on_b, FOREVER));
    CHECK(is_done(rt, filler));
    for (int i = 0; i < 3; i++) CHECK_EQUAL(order.ids[i], i);

    task.arg = &dropped;
    task.run = body_must_not_run;
    task.drop = drop_count;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_STATE); /* filled before */
    CHECK_STATUS(norn_reserve_abandon(rt, slots[0]), NORN_E_STATE);
    CHECK_EQUAL(dropped, 0);
    CHECK_OK(norn_close(rt));
    return 0;
}
