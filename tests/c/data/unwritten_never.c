/* Readers of a datum that is never written fail at close; nothing hangs and nothing runs. */
#include "check.h"

static atomic_int dropped;
int main(void) {
    norn_runtime *rt = open_plain();
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data data;
    int value = 0;
    desc.ptr = &value;
    desc.bytes = sizeof value;
    desc.flags = NORN_UNWRITTEN;
    CHECK_OK(norn_data_register(rt, &desc, &data));
    norn_task task = task_of(body_must_not_run, &dropped);
    norn_access access = norn_read(data);
    task.drop = drop_count;
    task.accesses = &access;
    task.access_count = 1;
    norn_token reader = submit(rt, &task);
    CHECK_STATUS(norn_await(rt, reader, 20 * MILLISECOND), NORN_E_TIMEOUT);
    norn_close(rt);
    CHECK_EQUAL(dropped, 1);
    return 0;
}
