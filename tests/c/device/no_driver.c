/* Without a driver the runtime works, and what needs a device says what is missing (N5).
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "check.h"

static int32_t enqueue(norn_self *self, void *stream, void *arg) {
    (void)self;
    (void)stream;
    (void)arg;
    return 0;
}

int main(void) {
    norn_runtime *rt;
    norn_place place;
    CHECK_OK(norn_open(NULL, &rt));
    norn_status status = norn_device_open(rt, NULL, &place);
    if (status == NORN_OK) {
        printf("skipped: there is a device\n");
        CHECK_OK(norn_close(rt));
        return SKIPPED;
    }
    CHECK_STATUS(status, NORN_E_UNSUPPORTED);
    CHECK(strstr(norn_last_error(), "no device") != NULL);
    norn_task task = NORN_TASK_INIT;
    task.enqueue = enqueue;
    CHECK_STATUS(norn_submit(rt, &task, NULL), NORN_E_UNSUPPORTED);
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data data;
    desc.bytes = 8;
    desc.kind = NORN_MEMORY_PINNED;
    CHECK_STATUS(norn_data_alloc(rt, &desc, &data), NORN_E_UNSUPPORTED);
    /* Between host memories a copy needs no device. */
    uint64_t from[4] = {1, 2, 3, 4}, to[4] = {0}, nine = 9;
    norn_slice source = norn_slice_at(from, NORN_U64, 4), target = norn_slice_at(to, NORN_U64, 4), first = target;
    norn_token copied, filled;
    CHECK_OK(norn_copy(rt, &source, &target, NULL, &copied));
    first.count = 2;
    norn_task how = NORN_TASK_INIT;
    how.after = &copied;
    how.after_count = 1;
    CHECK_OK(norn_fill(rt, &first, &nine, &how, &filled));
    CHECK_OK(norn_await(rt, filled, FOREVER));
    CHECK(to[0] == 9 && to[1] == 9 && to[2] == 3 && to[3] == 4);
    CHECK_OK(norn_close(rt));
    return 0;
}
