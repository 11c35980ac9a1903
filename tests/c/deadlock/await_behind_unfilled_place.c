/* A body awaits a task that comes after a reserved place, which itself comes after the body: told at the call, and the
   dump names what the place waits for. */
#include "check.h"

static norn_runtime *rt;
static norn_token reader;
static atomic_int told;

static char text[4096];
static int32_t collect(void *arg, const char *bytes, uint64_t count) {
    (void)arg;
    const size_t used = strlen(text);
    CHECK(used + count < sizeof text);
    memcpy(text + used, bytes, count);
    return 0;
}

static int32_t writes(norn_self *self, void *arg) {
    (void)self, (void)arg;
    CHECK_STATUS(norn_await(rt, reader, FOREVER), NORN_E_WOULD_DEADLOCK);
    CHECK_SAYS("writer");
    CHECK_SAYS("reader");
    atomic_fetch_add(&told, 1);
    return 0;
}

int main(void) {
    rt = open_plain();
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    desc.name = "field";
    norn_data datum;
    CHECK_OK(norn_data_register(rt, &desc, &datum));
    norn_access update = norn_update(datum), read = norn_read(datum);
    norn_task task = task_of(writes, NULL);
    task.name = "writer";
    task.flags = NORN_HELD;
    task.accesses = &update;
    task.access_count = 1;
    norn_token writer = submit(rt, &task);
    uint64_t slot;
    CHECK_OK(norn_reserve(rt, &update, 1, &slot));
    task = task_of(body_nothing, NULL);
    task.name = "reader";
    task.accesses = &read;
    task.access_count = 1;
    reader = submit(rt, &task);
    CHECK_OK(norn_dump(rt, NORN_DUMP_TEXT, collect, NULL));
    const char *place = strstr(text, "reserved place");
    CHECK(place != NULL);
    CHECK_TEXT(place, "waits for \"writer\"");
    CHECK_OK(norn_start(rt, writer));
    CHECK_OK(norn_await(rt, writer, FOREVER));
    CHECK_EQUAL(told, 1);
    CHECK_OK(norn_reserve_abandon(rt, slot));
    CHECK_OK(norn_await(rt, reader, FOREVER));
    CHECK_OK(norn_data_unregister(rt, datum));
    CHECK_OK(norn_close(rt));
    return 0;
}
