/* A datum gets a new address after its last access so far. */
#include "check.h"

static int old_memory[4], new_memory[8], *current;
static norn_runtime *rt;
static norn_data data;
static int32_t add_1(norn_self *self, void *arg) {
    void *ptr;
    uint64_t bytes;
    (void)self;
    (void)arg;
    CHECK_OK(norn_data_pointer(rt, data, &ptr, &bytes));
    CHECK(ptr == current);
    CHECK_EQUAL(bytes, current == old_memory ? sizeof old_memory : sizeof new_memory);
    ((int *)ptr)[0]++;
    return 0;
}
static int32_t rebind_inside(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    CHECK_STATUS(norn_data_rebind(rt, data, old_memory, sizeof old_memory), NORN_E_WOULD_DEADLOCK);
    return 0;
}

int main(void) {
    rt = open_plain();
    current = old_memory;
    data = datum_of(rt, old_memory, sizeof old_memory, "moving");
    for (int i = 0; i < 100; i++) submit_on(rt, add_1, NULL, norn_update(data));
    CHECK_OK(norn_await(rt, submit_on(rt, body_nothing, NULL, norn_read(data)), FOREVER));
    new_memory[0] = old_memory[0];
    CHECK_EQUAL(new_memory[0], 100);
    /* Something is still pending on it that does not look at the memory: rebind waits for it. */
    for (int i = 0; i < 100; i++) submit_on(rt, body_nothing, NULL, norn_update(data));
    CHECK_OK(norn_data_rebind(rt, data, new_memory, sizeof new_memory));
    current = new_memory;
    for (int i = 0; i < 100; i++) submit_on(rt, add_1, NULL, norn_update(data));
    CHECK_OK(norn_await(rt, submit_on(rt, rebind_inside, NULL, norn_read(data)), FOREVER));
    CHECK_EQUAL(new_memory[0], 200);
    CHECK_EQUAL(old_memory[0], 100);

    /* The old memory is free, the new one is taken. */
    norn_data other = datum_of(rt, old_memory, sizeof old_memory, "other");
    CHECK_STATUS(norn_data_rebind(rt, other, new_memory + 2, 4), NORN_E_OVERLAP);
    CHECK_STATUS(norn_data_rebind(rt, data, NULL, 4), NORN_E_INVALID);
    /* A refused rebind changed nothing. */
    void *ptr;
    CHECK_OK(norn_data_pointer(rt, other, &ptr, NULL));
    CHECK(ptr == old_memory);
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data own;
    desc.bytes = 64;
    CHECK_OK(norn_data_alloc(rt, &desc, &own));
    char elsewhere[64];
    CHECK_STATUS(norn_data_rebind(rt, own, elsewhere, 64), NORN_E_STATE);
    CHECK_OK(norn_close(rt));
    return 0;
}
