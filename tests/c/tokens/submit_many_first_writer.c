/* The first writer of an unwritten datum and a later writer, which comes after a waiting reader, in one batch: no cycle. */
#include "check.h"

int main(void) {
    atomic_int ran = 0;
    norn_runtime *rt = open_plain();
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data datum;
    desc.flags = NORN_UNWRITTEN;
    CHECK_OK(norn_data_register(rt, &desc, &datum));
    norn_access read = norn_read(datum), write = norn_write(datum), update = norn_update(datum);
    norn_task task = task_of(body_count, &ran);
    task.accesses = &read;
    task.access_count = 1;
    norn_token reader;
    CHECK_OK(norn_submit(rt, &task, &reader));

    norn_task batch[2] = {task_of(body_count, &ran), task_of(body_count, &ran)};
    batch[0].accesses = &write;
    batch[0].access_count = 1;
    batch[1].accesses = &update;
    batch[1].access_count = 1;
    batch[1].after = &reader;
    batch[1].after_count = 1;
    norn_token last;
    CHECK_OK(norn_declare(rt, "last", &last));
    batch[1].as = last;
    CHECK_OK(norn_submit_many(rt, batch, 2, NULL));
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(ran, 3);
    CHECK_OK(norn_data_unregister(rt, datum));
    CHECK_OK(norn_close(rt));
    return 0;
}
