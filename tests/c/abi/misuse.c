/* Every exported function, called wrongly in every way we can think of: a status each time, never a crash or a hang. */
#include "check.h"

/* misuse_covers_header.cmake compares this list with norn.h. */
#define FUNCTIONS(X)         \
    X(norn_self_get)         \
    X(norn_self_release)     \
    X(norn_self_fail)        \
    X(norn_self_hold)        \
    X(norn_unhold)           \
    X(norn_self_provider)    \
    X(norn_data_register)    \
    X(norn_data_alloc)       \
    X(norn_data_split)       \
    X(norn_data_join)        \
    X(norn_data_rebind)      \
    X(norn_data_unregister)  \
    X(norn_data_acquire)     \
    X(norn_data_release)     \
    X(norn_data_pointer)     \
    X(norn_reserve)          \
    X(norn_reserve_abandon)  \
    X(norn_device_open)      \
    X(norn_device_get)       \
    X(norn_copy)             \
    X(norn_fill)             \
    X(norn_stream_record)    \
    X(norn_stream_wait)      \
    X(norn_module_load)      \
    X(norn_kernel_get)       \
    X(norn_launch)           \
    X(norn_group_open)       \
    X(norn_group_close)      \
    X(norn_version)          \
    X(norn_status_name)      \
    X(norn_last_error)       \
    X(norn_open_version)     \
    X(norn_close)            \
    X(norn_close_with)       \
    X(norn_drain)            \
    X(norn_progress)         \
    X(norn_seal)             \
    X(norn_stats)            \
    X(norn_dump)             \
    X(norn_intern)           \
    X(norn_mpi_register)     \
    X(norn_world_attach_f)   \
    X(norn_world_get)        \
    X(norn_world_flush)      \
    X(norn_world_fail)       \
    X(norn_world_detach)     \
    X(norn_world_lane)       \
    X(norn_send)             \
    X(norn_recv)             \
    X(norn_barrier)          \
    X(norn_bcast)            \
    X(norn_reduce)           \
    X(norn_allreduce)        \
    X(norn_gather)           \
    X(norn_scatter)          \
    X(norn_allgather)        \
    X(norn_alltoall)         \
    X(norn_submit)           \
    X(norn_submit_many)      \
    X(norn_declare)          \
    X(norn_promise)          \
    X(norn_fulfill)          \
    X(norn_fail)             \
    X(norn_edge)             \
    X(norn_start)            \
    X(norn_await)            \
    X(norn_await_all)        \
    X(norn_await_any)        \
    X(norn_test)             \
    X(norn_cancel)           \
    X(norn_error)            \
    X(norn_on_complete)      \
    X(norn_eventfd)

enum {
#define NUMBER(function) number_of_##function,
    FUNCTIONS(NUMBER) FUNCTION_COUNT
};
static const char *const function_names[] = {
#define NAME(function) #function,
    FUNCTIONS(NAME)};
static int called[FUNCTION_COUNT];

/* What a round of wrong calls expects: one status, or any error (0). */
static norn_status expected;
static const char *round_name;

static void check_call(int function, norn_status got, const char *call) {
    called[function] = 1;
    if (expected != 0 ? got == expected : got < 0) return;
    fprintf(stderr, "misuse: %s: %s gave %s, expected %s (\"%s\")\n", round_name, call, norn_status_name(got),
            expected != 0 ? norn_status_name(expected) : "an error", norn_last_error());
    check_end();
}
#define WRONG(function, ...) check_call(number_of_##function, function(__VA_ARGS__), #function "(" #__VA_ARGS__ ")")

/* The handles a round uses; all outputs go here and must stay as they are. */
typedef struct handles {
    norn_runtime *rt;
    norn_token token;
    norn_data data;
    norn_group group;
} handles;
static struct {
    norn_token token[4];
    norn_data data[4];
    norn_group group;
    uint64_t number[4];
    void *pointer;
    const char *name;
    int32_t int32;
} out, untouched;

static void reset_outputs(void) {
    memset(&out, 0x6b, sizeof out);
    memset(&untouched, 0x6b, sizeof untouched);
}
static void check_outputs(void) {
    if (memcmp(&out, &untouched, sizeof out) == 0) return;
    fprintf(stderr, "misuse: %s: an output was written by a call that failed\n", round_name);
    check_end();
}

static int32_t ignore_text(void *arg, const char *text, uint64_t bytes) {
    (void)arg;
    (void)text;
    (void)bytes;
    return 0;
}
static void ignore_completion(void *arg, norn_token token, norn_status status) {
    (void)arg;
    (void)token;
    (void)status;
}

/* Every call that takes a runtime, with right arguments except what `h` holds. */
static void call_all_with(handles h) {
    norn_task task = task_of(body_must_not_run, NULL);
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_access access = norn_read(h.data);
    norn_piece piece = {0, 1, 1, 0};
    norn_error_info info = NORN_ERROR_INFO_INIT;
    norn_runtime_stats stats = NORN_RUNTIME_STATS_INIT;
    norn_device_info device_info = NORN_DEVICE_INFO_INIT;
    norn_launch_desc launch = NORN_LAUNCH_INIT;
    norn_slice part = norn_slice_of(h.data, NORN_BYTE, 1);
    norn_module module = {0};
    norn_kernel kernel = {0};
    norn_place out_place = norn_place_of(NORN_PLACE_DEVICE, 0);
    static char memory[64];
    reset_outputs();
    WRONG(norn_unhold, h.rt, h.token, 1);
    WRONG(norn_data_register, h.rt, &desc, out.data);
    desc.bytes = 8;
    WRONG(norn_data_alloc, h.rt, &desc, out.data);
    WRONG(norn_data_split, h.rt, h.data, &piece, 1, out.data);
    WRONG(norn_data_join, h.rt, h.data);
    WRONG(norn_data_rebind, h.rt, h.data, memory, sizeof memory);
    WRONG(norn_data_unregister, h.rt, h.data);
    WRONG(norn_data_acquire, h.rt, &access, 1, FOREVER, out.token);
    WRONG(norn_data_release, h.rt, h.token);
    WRONG(norn_data_pointer, h.rt, h.data, &out.pointer, out.number);
    WRONG(norn_reserve, h.rt, &access, 1, out.number);
    WRONG(norn_reserve_abandon, h.rt, h.token.id);
    WRONG(norn_device_open, h.rt, NULL, &out_place);
    WRONG(norn_device_get, h.rt, out_place, &device_info);
    WRONG(norn_copy, h.rt, &part, &part, NULL, out.token);
    WRONG(norn_fill, h.rt, &part, memory, NULL, out.token);
    WRONG(norn_stream_record, h.rt, out_place, NULL, out.token);
    WRONG(norn_stream_wait, h.rt, h.token, out_place, NULL, FOREVER);
    WRONG(norn_module_load, h.rt, out_place, memory, sizeof memory, NULL, &module);
    WRONG(norn_kernel_get, h.rt, module, "k", &kernel);
    WRONG(norn_launch, h.rt, &launch, NULL, out.token);
    WRONG(norn_group_open, h.rt, "g", h.group, &out.group, out.token);
    WRONG(norn_group_close, h.rt, h.group);
    WRONG(norn_drain, h.rt, FOREVER);
    WRONG(norn_drain, h.rt, 0);
    WRONG(norn_progress, h.rt);
    WRONG(norn_seal, h.rt);
    WRONG(norn_stats, h.rt, &stats);
    WRONG(norn_dump, h.rt, NORN_DUMP_TEXT, ignore_text, NULL);
    WRONG(norn_intern, h.rt, "name", &out.name);
    WRONG(norn_world_attach_f, h.rt, 0, NULL, (norn_world **)&out.pointer);
    WRONG(norn_submit, h.rt, &task, out.token);
    WRONG(norn_submit_many, h.rt, &task, 1, out.token);
    WRONG(norn_declare, h.rt, "d", out.token);
    WRONG(norn_promise, h.rt, "p", out.token);
    WRONG(norn_fulfill, h.rt, h.token);
    WRONG(norn_fail, h.rt, h.token, 1, "text");
    WRONG(norn_edge, h.rt, h.token, h.token);
    WRONG(norn_start, h.rt, h.token);
    WRONG(norn_await, h.rt, h.token, FOREVER);
    WRONG(norn_await_all, h.rt, &h.token, 1, FOREVER);
    WRONG(norn_await_any, h.rt, &h.token, 1, FOREVER, out.number);
    WRONG(norn_test, h.rt, h.token, &out.int32);
    WRONG(norn_cancel, h.rt, h.token);
    WRONG(norn_error, h.rt, h.token, &info);
    WRONG(norn_on_complete, h.rt, h.token, ignore_completion, NULL);
    WRONG(norn_eventfd, h.rt, h.token, &out.int32);
    WRONG(norn_close_with, h.rt, NORN_CANCEL, FOREVER);
    WRONG(norn_close_with, h.rt, NORN_DRAIN, 0);
    WRONG(norn_close, h.rt);
    check_outputs();
}

/* Every call on a world that is none. */
static void call_all_with_world(norn_world *world) {
    norn_slice slice = NORN_SLICE_INIT;
    norn_world_info info = NORN_WORLD_INFO_INIT;
    reset_outputs();
    WRONG(norn_world_get, world, &info);
    WRONG(norn_world_flush, world, 0);
    WRONG(norn_world_fail, world, 1, "text");
    WRONG(norn_world_detach, world, 0);
    WRONG(norn_world_lane, world, (norn_world **)&out.pointer);
    WRONG(norn_send, world, &slice, 0, 0, NULL, out.token);
    WRONG(norn_recv, world, &slice, 0, 0, NULL, out.token);
    WRONG(norn_barrier, world, NULL, out.token);
    WRONG(norn_bcast, world, &slice, 0, NULL, out.token);
    WRONG(norn_reduce, world, &slice, &slice, NORN_SUM, 0, NULL, out.token);
    WRONG(norn_allreduce, world, &slice, &slice, NORN_SUM, NULL, out.token);
    WRONG(norn_gather, world, &slice, &slice, NULL, 0, NULL, out.token);
    WRONG(norn_scatter, world, &slice, &slice, NULL, 0, NULL, out.token);
    WRONG(norn_allgather, world, &slice, &slice, NULL, NULL, out.token);
    WRONG(norn_alltoall, world, &slice, NULL, &slice, NULL, NULL, out.token);
    check_outputs();
}

/* Every call on a right runtime whose token, datum or group is wrong. */
static void call_all_on(handles h) {
    norn_task task = task_of(body_must_not_run, NULL);
    norn_access access = norn_read(h.data);
    norn_piece piece = {0, 1, 1, 0};
    norn_error_info info = NORN_ERROR_INFO_INIT;
    norn_token fine = declared(h.rt, "fine");
    static char memory[64];
    reset_outputs();
    WRONG(norn_unhold, h.rt, h.token, 1);
    WRONG(norn_data_split, h.rt, h.data, &piece, 1, out.data);
    WRONG(norn_data_join, h.rt, h.data);
    WRONG(norn_data_rebind, h.rt, h.data, memory, sizeof memory);
    WRONG(norn_data_unregister, h.rt, h.data);
    WRONG(norn_data_acquire, h.rt, &access, 1, FOREVER, out.token);
    WRONG(norn_data_release, h.rt, h.token);
    WRONG(norn_data_pointer, h.rt, h.data, &out.pointer, out.number);
    WRONG(norn_reserve, h.rt, &access, 1, out.number);
    WRONG(norn_reserve_abandon, h.rt, h.token.id);
    WRONG(norn_group_open, h.rt, "g", h.group, &out.group, out.token);
    WRONG(norn_group_close, h.rt, h.group);
    WRONG(norn_fulfill, h.rt, h.token);
    WRONG(norn_fail, h.rt, h.token, 1, "text");
    WRONG(norn_edge, h.rt, h.token, fine);
    WRONG(norn_edge, h.rt, fine, h.token);
    WRONG(norn_start, h.rt, h.token);
    WRONG(norn_await, h.rt, h.token, FOREVER);
    WRONG(norn_await_all, h.rt, &h.token, 1, FOREVER);
    WRONG(norn_await_any, h.rt, &h.token, 1, FOREVER, out.number);
    WRONG(norn_test, h.rt, h.token, &out.int32);
    WRONG(norn_cancel, h.rt, h.token);
    WRONG(norn_error, h.rt, h.token, &info);
    WRONG(norn_on_complete, h.rt, h.token, ignore_completion, NULL);
    WRONG(norn_eventfd, h.rt, h.token, &out.int32);
    task.accesses = &access;
    task.access_count = 1;
    WRONG(norn_submit, h.rt, &task, out.token);
    WRONG(norn_submit_many, h.rt, &task, 1, out.token);
    task.access_count = 0;
    task.after = &h.token;
    task.after_count = 1;
    WRONG(norn_submit, h.rt, &task, out.token);
    task.after_count = 0;
    task.as = h.token;
    WRONG(norn_submit, h.rt, &task, out.token);
    task.as.id = 0;
    task.group = h.group;
    WRONG(norn_submit, h.rt, &task, out.token);
    check_outputs();
    CHECK_OK(norn_cancel(h.rt, fine));
}

/* NULL where something is needed, and values out of their range. */
static void call_all_with_null(norn_runtime *rt) {
    norn_token promise = promised(rt, "promise");
    norn_data data = pure_name(rt, "data");
    norn_access access = norn_read(data);
    norn_task task = task_of(body_must_not_run, NULL);
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_piece piece = {0, 1, 1, 0};
    norn_slice part = norn_slice_of(data, NORN_BYTE, 1);
    norn_module module = {0};
    norn_kernel kernel = {0};
    char memory[8] = {0};
    norn_runtime *none = NULL;
    norn_config config = NORN_CONFIG_INIT;
    reset_outputs();
    expected = NORN_E_INVALID;
    round_name = "NULL";
    WRONG(norn_open_version, NORN_HEADER_VERSION, NULL, NULL);
    WRONG(norn_data_register, rt, NULL, out.data);
    WRONG(norn_data_register, rt, &desc, NULL);
    WRONG(norn_data_alloc, rt, NULL, out.data);
    desc.bytes = 8;
    WRONG(norn_data_alloc, rt, &desc, NULL);
    WRONG(norn_data_split, rt, data, NULL, 1, out.data);
    WRONG(norn_data_split, rt, data, &piece, 1, NULL);
    WRONG(norn_data_rebind, rt, data, NULL, 8);
    WRONG(norn_data_acquire, rt, NULL, 1, FOREVER, out.token);
    WRONG(norn_data_acquire, rt, &access, 1, FOREVER, NULL);
    WRONG(norn_device_open, rt, NULL, NULL);
    WRONG(norn_copy, rt, NULL, &part, NULL, out.token);
    WRONG(norn_copy, rt, &part, NULL, NULL, out.token);
    WRONG(norn_fill, rt, NULL, memory, NULL, out.token);
    WRONG(norn_fill, rt, &part, NULL, NULL, out.token);
    WRONG(norn_stream_record, rt, norn_place_of(NORN_PLACE_DEVICE, 0), NULL, NULL);
    WRONG(norn_module_load, rt, norn_place_of(NORN_PLACE_DEVICE, 0), NULL, 1, NULL, &module);
    WRONG(norn_module_load, rt, norn_place_of(NORN_PLACE_DEVICE, 0), memory, 1, NULL, NULL);
    WRONG(norn_kernel_get, rt, module, NULL, &kernel);
    WRONG(norn_kernel_get, rt, module, "k", NULL);
    WRONG(norn_launch, rt, NULL, NULL, out.token);
    WRONG(norn_reserve, rt, NULL, 1, out.number);
    WRONG(norn_reserve, rt, &access, 1, NULL);
    WRONG(norn_group_open, rt, "g", (norn_group){0}, NULL, out.token);
    WRONG(norn_group_open, rt, "g", (norn_group){0}, &out.group, NULL);
    WRONG(norn_stats, rt, NULL);
    WRONG(norn_dump, rt, NORN_DUMP_TEXT, NULL, NULL);
    WRONG(norn_intern, rt, NULL, &out.name);
    WRONG(norn_intern, rt, "name", NULL);
    WRONG(norn_submit, rt, NULL, out.token);
    WRONG(norn_submit_many, rt, NULL, 1, out.token);
    WRONG(norn_declare, rt, "d", NULL);
    WRONG(norn_promise, rt, "p", NULL);
    WRONG(norn_await_all, rt, NULL, 1, FOREVER);
    WRONG(norn_await_any, rt, NULL, 1, FOREVER, out.number);
    WRONG(norn_await_any, rt, &promise, 1, FOREVER, NULL);
    WRONG(norn_test, rt, promise, NULL);
    WRONG(norn_on_complete, rt, promise, NULL, NULL);
    WRONG(norn_eventfd, rt, promise, NULL);

    round_name = "out of range";
    WRONG(norn_dump, rt, -1, ignore_text, NULL);
    WRONG(norn_dump, rt, 2, ignore_text, NULL);
    WRONG(norn_close_with, rt, 2, 0);
    WRONG(norn_close_with, rt, UINT32_MAX, 0);
    WRONG(norn_fail, rt, promise, 0, "text");
    task.access_count = UINT64_MAX;
    task.accesses = &access;
    WRONG(norn_submit, rt, &task, out.token);
    task.access_count = 1;
    task.accesses = NULL;
    WRONG(norn_submit, rt, &task, out.token);
    task.access_count = 0;
    task.after_count = UINT64_MAX / 8;
    task.after = &promise;
    WRONG(norn_submit, rt, &task, out.token);
    task.after_count = 1;
    task.after = NULL;
    WRONG(norn_submit, rt, &task, out.token);
    task.after_count = 0;
    task.place = norn_place_of(INT32_MAX, INT32_MIN);
    WRONG(norn_submit, rt, &task, out.token);
    task.place = norn_place_of(NORN_PLACE_CPU, INT32_MAX);
    WRONG(norn_submit, rt, &task, out.token);
    task.place = norn_place_of(NORN_PLACE_ANY, 0);
    task.flags = UINT32_MAX;
    WRONG(norn_submit, rt, &task, out.token);
    task.flags = 0;
    task.cpus = INT32_MIN;
    WRONG(norn_submit, rt, &task, out.token);
    task.cpus = 0;
    task.enqueue = (norn_enqueue_fn)(void (*)(void))body_must_not_run; /* and a host body */
    WRONG(norn_submit, rt, &task, out.token);
    access.mode = INT32_MAX;
    WRONG(norn_reserve, rt, &access, 1, out.number);
    WRONG(norn_data_acquire, rt, &access, 1, FOREVER, out.token);
    WRONG(norn_await_all, rt, &promise, UINT64_MAX, 0);
    WRONG(norn_data_split, rt, data, &piece, UINT64_MAX, out.data);

    round_name = "no world";
    expected = NORN_E_INVALID;
    call_all_with_world(NULL);
    call_all_with_world((norn_world *)(uintptr_t)0x15);
    call_all_with_world((norn_world *)(uintptr_t)UINTPTR_MAX);
    call_all_with_world((norn_world *)(void *)rt);
    reset_outputs();

    round_name = "configuration";
    expected = NORN_E_CONFIG;
    config.mode = INT32_MIN;
    WRONG(norn_open_version, NORN_HEADER_VERSION, &config, &none);
    config = (norn_config)NORN_CONFIG_INIT;
    config.workers = INT32_MIN;
    WRONG(norn_open_version, NORN_HEADER_VERSION, &config, &none);
    config = (norn_config)NORN_CONFIG_INIT;
    config.flags = UINT64_MAX;
    WRONG(norn_open_version, NORN_HEADER_VERSION, &config, &none);
    config = (norn_config)NORN_CONFIG_INIT;
    config.on_failure = INT32_MAX;
    WRONG(norn_open_version, NORN_HEADER_VERSION, &config, &none);
    config = (norn_config)NORN_CONFIG_INIT;
    config.cpus = "";
    WRONG(norn_open_version, NORN_HEADER_VERSION, &config, &none);
    CHECK(none == NULL);
    expected = 0;
    static const uint64_t no_table[1] = {0};
    WRONG(norn_mpi_register, no_table);
    WRONG(norn_mpi_register, (const char *)no_table + 1);
    check_outputs();

    /* NULL where it is allowed, absurd limits where any is. */
    called[number_of_norn_version] = called[number_of_norn_status_name] = called[number_of_norn_last_error] = 1;
    CHECK_OK(norn_version(NULL, NULL, NULL));
    CHECK(norn_status_name(INT32_MIN) != NULL);
    CHECK(norn_last_error() != NULL);
    CHECK_OK(norn_mpi_register(NULL));
    CHECK_OK(norn_data_pointer(rt, data, NULL, NULL));
    CHECK_OK(norn_await_all(rt, NULL, 0, FOREVER));
    CHECK_OK(norn_submit_many(rt, NULL, 0, NULL));
    CHECK_OK(norn_reserve(rt, NULL, 0, NULL));
    CHECK_STATUS(norn_await(rt, promise, 1), NORN_E_TIMEOUT);
    CHECK_OK(norn_fulfill(rt, promise));
    CHECK_OK(norn_await(rt, promise, INT64_MIN));
    CHECK_OK(norn_await(rt, promise, INT64_MAX));
    norn_token nameless;
    CHECK_OK(norn_declare(rt, NULL, &nameless));
    CHECK_OK(norn_cancel(rt, nameless));
    CHECK_OK(norn_promise(rt, NULL, &nameless));
    CHECK_OK(norn_fail(rt, nameless, -1, NULL));
    CHECK_STATUS(norn_await(rt, nameless, FOREVER), NORN_E_TASK_FAILED);
    CHECK_OK(norn_data_unregister(rt, data));
}

static void call_with_self(norn_self *self, norn_data data) {
    norn_self_info info = NORN_SELF_INFO_INIT;
    reset_outputs();
    WRONG(norn_self_get, self, &info);
    WRONG(norn_self_release, self, data);
    WRONG(norn_self_hold, self, 1);
    WRONG(norn_self_provider, self, 0, &out.pointer);
    /* This one gives back its code whatever happens: a body can end with it. */
    called[number_of_norn_self_fail] = 1;
    CHECK_EQUAL(norn_self_fail(self, 17, "text"), 17);
    CHECK_EQUAL(norn_self_fail(self, -3, NULL), -3);
    check_outputs();
}
static int32_t inside_body(norn_self *self, void *arg) {
    const handles *h = arg;
    norn_self_info info = NORN_SELF_INFO_INIT;
    round_name = "inside a body";
    expected = NORN_E_INVALID;
    reset_outputs();
    WRONG(norn_self_get, self, NULL);
    WRONG(norn_self_release, self, h->data);
    WRONG(norn_self_release, self, (norn_data){UINT64_MAX});
    WRONG(norn_self_hold, self, 0);
    WRONG(norn_self_hold, self, UINT32_MAX);
    expected = NORN_E_VERSION;
    const size_t wrong_sizes[] = {0, 8, 1u << 24, SIZE_MAX};
    for (size_t i = 0; i < COUNT_OF(wrong_sizes); i++) {
        info.struct_size = wrong_sizes[i];
        WRONG(norn_self_get, self, &info);
    }
    expected = 0;
    WRONG(norn_self_provider, self, 12345, &out.pointer);
    WRONG(norn_self_provider, self, 0, NULL);
    WRONG(norn_open_version, INT32_MIN, NULL, NULL);
    expected = NORN_E_WOULD_DEADLOCK;
    WRONG(norn_close, h->rt);
    WRONG(norn_close_with, h->rt, NORN_CANCEL, 0);
    WRONG(norn_close_with, h->rt, NORN_DRAIN, FOREVER);
    WRONG(norn_drain, h->rt, FOREVER);
    round_name = "garbage body inside a body";
    expected = 0;
    call_with_self(NULL, h->data);
    call_with_self((norn_self *)(uintptr_t)UINTPTR_MAX, h->data);
    call_with_self((norn_self *)(uintptr_t)8, h->data);
    norn_self_fail(self, 0, NULL);
    check_outputs();
    return 0;
}

int main(void) {
    norn_runtime *rt = open_plain(), *other = open_plain();
    int value = 0, far_value = 0;
    handles mine = {rt, promised(rt, "mine"), DATUM(rt, value), {0}};
    handles theirs = {other, promised(other, "theirs"), DATUM(other, far_value), {0}};
    norn_token done, their_done;
    CHECK_OK(norn_group_open(rt, "mine", (norn_group){0}, &mine.group, &done));
    CHECK_OK(norn_group_open(other, "theirs", (norn_group){0}, &theirs.group, &their_done));
    handles h;

    expected = NORN_E_INVALID;
    round_name = "runtime is NULL";
    h = mine;
    h.rt = NULL;
    call_all_with(h);

    round_name = "runtime is garbage";
    const uintptr_t garbage[] = {1, 8, 0x1234, UINTPTR_MAX, UINTPTR_MAX - 7, (uintptr_t)&h, (uintptr_t)main, (uintptr_t)1 << 63, ((uintptr_t)rt) ^ 1,
                                 ((uintptr_t)rt) ^ ((uintptr_t)1 << 40), ((uintptr_t)rt) + ((uintptr_t)1 << 62)};
    for (size_t i = 0; i < COUNT_OF(garbage); i++) {
        h.rt = (norn_runtime *)garbage[i];
        if (h.rt != rt && h.rt != other) call_all_with(h);
    }

    const uint64_t ids[] = {UINT64_MAX, UINT64_MAX / 2, 1, UINT64_C(1) << 63, UINT64_C(0x123456789abcdef), mine.token.id ^ (UINT64_C(1) << 62)};
    round_name = "token, datum and group are garbage";
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        if (ids[i] < mine.token.id) continue; /* might pass for one long complete */
        h = (handles){rt, {ids[i]}, {ids[i]}, {ids[i]}};
        call_all_on(h);
    }
    round_name = "token, datum and group of another runtime";
    h = theirs;
    h.rt = rt;
    call_all_on(h);
    h = mine;
    h.rt = other;
    call_all_on(h);
    /* A number of one kind given as another: some status, whichever. */
    int32_t is;
    norn_test(rt, (norn_token){mine.data.id}, &is);
    norn_test(rt, (norn_token){mine.group.id}, &is);
    norn_data_pointer(rt, (norn_data){mine.token.id}, NULL, NULL);
    norn_data_pointer(rt, (norn_data){mine.group.id}, NULL, NULL);
    norn_unhold(rt, (norn_token){mine.data.id}, 1);

    call_all_with_null(rt);

    expected = 0;
    round_name = "no body";
    call_with_self(NULL, mine.data);
    call_with_self((norn_self *)(uintptr_t)UINTPTR_MAX, mine.data);
    call_with_self((norn_self *)(uintptr_t)64, mine.data);
    call_with_self((norn_self *)&value, mine.data);
    CHECK_OK(norn_await(rt, submit_run(rt, inside_body, &mine), FOREVER));

    /* Nothing of all that has hurt. */
    atomic_int ran = 0;
    norn_token last = submit_on(rt, body_count, &ran, norn_update(mine.data));
    CHECK_OK(norn_await(rt, submit_after(rt, body_count, &ran, last), FOREVER));
    CHECK_OK(norn_fulfill(rt, mine.token));
    CHECK_OK(norn_group_close(rt, mine.group));
    CHECK_OK(norn_await(rt, done, FOREVER));
    CHECK_EQUAL(ran, 2);

    /* From a forked child. */
    fflush(NULL);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        expected = NORN_E_FORKED;
        round_name = "forked child";
        norn_runtime *fresh = NULL;
        call_all_with(mine);
        call_all_with(theirs);
        call_with_self(NULL, mine.data);
        WRONG(norn_open_version, NORN_HEADER_VERSION, NULL, &fresh);
        expected = 0;
        h = mine;
        h.rt = NULL;
        call_all_with(h);
        h.rt = (norn_runtime *)(uintptr_t)UINTPTR_MAX;
        call_all_with(h);
        CHECK(norn_last_error()[0] != 0);
        CHECK(norn_status_name(NORN_E_FORKED) != NULL);
        norn_version(NULL, NULL, NULL);
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);

    /* After the close. */
    CHECK_OK(norn_close(rt));
    expected = NORN_E_INVALID;
    round_name = "after the close";
    call_all_with(mine);
    round_name = "tokens of a closed runtime";
    h = mine;
    h.rt = other;
    call_all_on(h);
    CHECK_OK(norn_group_close(other, theirs.group));
    CHECK_OK(norn_fulfill(other, theirs.token));
    CHECK_OK(norn_close(other));
    call_all_with(theirs);

    for (int i = 0; i < FUNCTION_COUNT; i++)
        if (!called[i]) {
            fprintf(stderr, "misuse: %s was never called\n", function_names[i]);
            return 1;
        }
    return 0;
}
