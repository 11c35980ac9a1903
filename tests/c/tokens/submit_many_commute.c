/* Two COMMUTE accesses to a datum in one batch, of which one's group is what another COMMUTE task waits for: those do
   not wait for each other, so there is no cycle. */
#include "check.h"

int main(void) {
    atomic_int ran = 0;
    norn_runtime *rt = open_plain();
    norn_data datum = pure_name(rt, "datum");
    norn_access commute = {.data = datum, .mode = NORN_COMMUTE};
    norn_group group;
    norn_token done;
    CHECK_OK(norn_group_open(rt, "group", (norn_group){0}, &group, &done));
    norn_token behind = submit_on_after(rt, body_count, &ran, commute, done);

    norn_task batch[2] = {task_of(body_count, &ran), task_of(body_count, &ran)};
    for (size_t i = 0; i < COUNT_OF(batch); i++) {
        batch[i].accesses = &commute;
        batch[i].access_count = 1;
    }
    batch[1].group = group;
    CHECK_OK(norn_submit_many(rt, batch, COUNT_OF(batch), NULL));
    CHECK_OK(norn_group_close(rt, group));
    CHECK_OK(norn_await(rt, behind, FOREVER));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(ran, 3);
    CHECK_OK(norn_close(rt));
    return 0;
}
