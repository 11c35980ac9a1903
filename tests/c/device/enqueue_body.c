/* An enqueue body queues the application's own work on the stream it is given: leased, or pinned to the application's own.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/raw.h"

#define COUNT 512

typedef struct move {
    const device *d;
    norn_data from, to;
    void *expected; /* the stream, NULL: any */
    int32_t code;
} move;

static atomic_int drops;

static int32_t copy_over(norn_self *self, void *stream, void *arg) {
    move *s = arg;
    void *from, *to;
    norn_self_info info = NORN_SELF_INFO_INIT;
    CHECK_OK(norn_self_get(self, &info));
    CHECK(stream != NULL && info.stream == stream);
    /* The task names no place; the body runs on a device all the same. */
    CHECK(info.place.kind == NORN_PLACE_DEVICE && info.place.index == s->d->place.index);
    CHECK(s->expected == NULL || s->expected == stream);
    CHECK_OK(norn_data_pointer(s->d->rt, s->from, &from, NULL));
    CHECK_OK(norn_data_pointer(s->d->rt, s->to, &to, NULL));
    /* It must not wait. */
    norn_token never;
    CHECK_OK(norn_promise(s->d->rt, "never", &never));
    CHECK_STATUS(norn_await(s->d->rt, never, FOREVER), NORN_E_THREAD);
    CHECK_OK(norn_fulfill(s->d->rt, never));
    /* Its accesses end with what it queues. */
    CHECK_STATUS(norn_self_release(self, s->from), NORN_E_STATE);
    raw_copy((uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, COUNT * 8, stream);
    return s->code != 0 ? norn_self_fail(self, s->code, "as asked") : 0;
}
static void drop(void *arg) {
    (void)arg;
    atomic_fetch_add(&drops, 1);
}

static norn_token put(const device *d, move *s, void *stream, const norn_token *after) {
    norn_access accesses[2] = {norn_read(s->from), norn_write(s->to)};
    norn_task task = NORN_TASK_INIT;
    norn_token token;
    task.enqueue = copy_over;
    task.arg = s;
    task.drop = drop;
    task.stream = stream;
    task.accesses = accesses;
    task.access_count = 2;
    task.after = after;
    task.after_count = after != NULL;
    CHECK_OK(norn_submit(d->rt, &task, &token));
    return token;
}

int main(void) {
    device d = device_open();
    norn_kernel mix = device_kernel(&d, "mix_u64");
    uint64_t *memory, *back;
    norn_data host = device_pinned(&d, COUNT * 8, &memory), result = device_pinned(&d, COUNT * 8, &back);
    norn_data x = device_alloc(&d, COUNT * 8), y = device_alloc(&d, COUNT * 8);
    for (uint64_t i = 0; i < COUNT; i++) memory[i] = 3 * i;
    raw_context();
    void *own = raw_stream();
    move up = {&d, host, x, NULL, 0}, over = {&d, x, y, own, 0}, down = {&d, y, result, NULL, 0};
    put(&d, &up, NULL, NULL);
    device_mix(&d, mix, x, COUNT, 11);
    put(&d, &over, own, NULL);
    CHECK_OK(norn_await(d.rt, put(&d, &down, NULL, NULL), FOREVER));
    for (uint64_t i = 0; i < COUNT; i++) CHECK(back[i] == mixed(3 * i, i, 11));

    /* A body that fails: its record, what depends on it, and its argument. */
    move bad = {&d, x, y, NULL, 7};
    norn_token failed = put(&d, &bad, NULL, NULL), behind = device_mix(&d, mix, y, COUNT, 1);
    norn_error_info info = NORN_ERROR_INFO_INIT;
    CHECK_STATUS(norn_await(d.rt, behind, FOREVER), NORN_E_PROPAGATED);
    CHECK_STATUS(norn_await(d.rt, failed, FOREVER), NORN_E_TASK_FAILED);
    CHECK_OK(norn_error(d.rt, failed, &info));
    CHECK(info.code == 7 && strcmp(info.text, "as asked") == 0);
    CHECK(atomic_load(&drops) == 4);
    raw_stream_end(own);
    raw_context_release();
    CHECK_OK(norn_close(d.rt));
    return 0;
}
