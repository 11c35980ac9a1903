/*
 * A panic in norn, forced at one place, and what a program sees of it: a status with a text, waits that end, a close
 * that returns. run.sh builds norn with --cfg norn_forced_panic and runs this once for each place and mode.
 *
 *   panics function NAME       one exported function, with right arguments, panics (NAME: at its begin, NAME.end)
 *   panics point NAME NTH      a program that uses all of norn meets a panic inside it, the NTH time it passes there
 *   panics list                the functions that the first form knows
 *
 * Ends with 0 when the panic came and all was right, with 3 when it did not come and all was right.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#include "check.h"

#include <poll.h>

void plant_panic(const char *point, uint64_t nth);
uint64_t planted_panics(void);

#define NOT_REACHED 3

/* ----- the application around the panic ----- */

static norn_runtime *rt;
static norn_token never; /* a promise that others wait for */
static norn_token soon;  /* one that bodies wait for, and that no thread keeps which may run one of them */
static int poll_fd = -1;
static atomic_int told;         /* the log sink got the text of the panic */
static atomic_int internal;     /* some call returned NORN_E_INTERNAL */
static atomic_int body_blocked; /* a body is about to await `never` */
static atomic_int calls_of_hooks;
static char memory[64];

/* Notes what a call gave; after a panic any call may give NORN_E_INTERNAL, and must then say why. */
static norn_status note(norn_status status) {
    if (status == NORN_E_INTERNAL) {
        CHECK(norn_last_error()[0] != 0);
        atomic_store(&internal, 1);
    }
    return status;
}
/* As expected without a panic, else NORN_E_INTERNAL; anything else may come only when the panic is near. */
#define TRY(call)                                                                                   \
    do {                                                                                            \
        norn_status got_ = note(call);                                                              \
        if (got_ != NORN_OK && planted_panics() == 0) check_status(got_, NORN_OK, __FILE__, __LINE__, #call); \
    } while (0)

static void sink(void *arg, int32_t level, const char *text) {
    (void)arg;
    (void)level;
    if (strstr(text, "planted panic") != NULL) atomic_store(&told, 1);
}
static void on_failure(void *arg, const norn_error_info *info) {
    (void)arg;
    CHECK(info->status != NORN_OK);
    atomic_fetch_add(&calls_of_hooks, 1);
}
static void on_thread(void *arg, int32_t index, int32_t begin) {
    (void)arg;
    (void)index;
    (void)begin;
    atomic_fetch_add(&calls_of_hooks, 1);
}
static void on_task(void *arg, norn_token token, const char *name, int32_t worker, int32_t begin) {
    (void)arg;
    (void)token;
    (void)name;
    (void)worker;
    (void)begin;
    atomic_fetch_add(&calls_of_hooks, 1);
}
static norn_status open_watched(void) {
    norn_config config = NORN_CONFIG_INIT;
    config.on_failure = NORN_ON_FAILURE_CALL;
    config.log = sink;
    config.failure = on_failure;
    config.thread = on_thread;
    config.task_event = on_task;
    return norn_open(&config, &rt);
}

static void *thread_awaits(void *arg) {
    (void)arg;
    return (void *)(intptr_t)note(norn_await(rt, never, FOREVER));
}
static void *thread_awaits_any(void *arg) {
    uint64_t index = 0;
    (void)arg;
    return (void *)(intptr_t)note(norn_await_any(rt, &never, 1, FOREVER, &index));
}
static void *thread_drains(void *arg) {
    (void)arg;
    return (void *)(intptr_t)note(norn_drain(rt, FOREVER));
}
static int32_t body_awaits(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    atomic_store(&body_blocked, 1);
    note(norn_await(rt, never, FOREVER));
    return 0;
}
static int32_t body_awaits_soon(norn_self *self, void *arg) {
    (void)self;
    note(norn_await(rt, soon, *(int64_t *)arg));
    return 0;
}
static void *thread_keeps_soon(void *arg) {
    (void)arg;
    sleep_ms(5);
    note(norn_fulfill(rt, soon));
    return NULL;
}

static pthread_t waiters[3];
static size_t waiter_count;
/* The last one drains; a close beside it would be refused. */
static void start_waiters(size_t count) {
    void *(*const lives[])(void *) = {thread_awaits, thread_awaits_any, thread_drains};
    waiter_count = count;
    for (size_t i = 0; i < count; i++) CHECK(pthread_create(&waiters[i], NULL, lives[i], NULL) == 0);
}
static void join_waiters(norn_status expected) {
    for (size_t i = 0; i < waiter_count; i++) {
        void *status = NULL;
        CHECK(pthread_join(waiters[i], &status) == 0);
        if (expected != NORN_OK) CHECK_STATUS((norn_status)(intptr_t)status, expected);
    }
}
static int readable(int fd) {
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    return poll(&poller, 1, 20000) == 1;
}

/* ----- one exported function ----- */

typedef struct things {
    norn_data data, split;
    norn_data parts[2];
    norn_token declared, held, promise, done, holding, cancellable, hold;
    norn_group group;
    uint64_t slot;
} things;
static things it;

static int32_t write_nothing(void *arg, const char *text, uint64_t bytes) {
    (void)arg;
    (void)text;
    (void)bytes;
    return 0;
}
static void complete_nothing(void *arg, norn_token token, norn_status status) {
    (void)arg;
    (void)token;
    (void)status;
    atomic_fetch_add(&calls_of_hooks, 1);
}

/* Calls that only a body can make: made there, and the status carried out. */
typedef norn_status (*in_body)(norn_self *self);
static in_body body_call;
static _Atomic norn_status body_status;
static atomic_int body_over;
static int32_t body_calls(norn_self *self, void *arg) {
    (void)arg;
    norn_status status = body_call(self);
    if (status == NORN_E_INTERNAL) CHECK_SAYS("planted panic");
    atomic_store(&body_status, status);
    atomic_store(&body_over, 1);
    return 0;
}
static norn_status from_body(in_body call) {
    norn_task task = task_of(body_calls, NULL);
    norn_access access = norn_write(it.data);
    norn_token token;
    body_call = call;
    task.accesses = &access;
    task.access_count = 1;
    CHECK_OK(norn_submit(rt, &task, &token));
    /* In modes without workers this runs the body. */
    norn_status waited = norn_await(rt, token, FOREVER);
    CHECK(waited == NORN_OK || waited == NORN_E_INTERNAL);
    WAIT_FOR(body_over);
    return atomic_load(&body_status);
}
static norn_status get(norn_self *self) {
    norn_self_info info = NORN_SELF_INFO_INIT;
    return norn_self_get(self, &info);
}
static norn_status release(norn_self *self) { return norn_self_release(self, it.data); }
static norn_status hold(norn_self *self) { return norn_self_hold(self, 1); }
static norn_status fail(norn_self *self) { return norn_self_fail(self, 7, "text") == 7 ? NORN_E_INTERNAL : NORN_OK; }
static norn_status provider(norn_self *self) {
    void *handle;
    norn_status status = norn_self_provider(self, 0, &handle);
    return status;
}

static norn_status call_norn_self_get(void) { return from_body(get); }
static norn_status call_norn_self_release(void) { return from_body(release); }
static norn_status call_norn_self_fail(void) { return from_body(fail); }
static norn_status call_norn_self_hold(void) { return from_body(hold); }
static norn_status call_norn_self_provider(void) { return from_body(provider); }
static norn_status call_norn_unhold(void) { return norn_unhold(rt, it.holding, 1); }
static norn_status call_norn_data_register(void) {
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data data;
    return norn_data_register(rt, &desc, &data);
}
static norn_status call_norn_data_alloc(void) {
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_data data;
    desc.bytes = 64;
    return norn_data_alloc(rt, &desc, &data);
}
static norn_status call_norn_data_split(void) {
    const norn_piece pieces[] = {{0, 8, 1, 0}, {8, 8, 1, 0}};
    return norn_data_split(rt, it.data, pieces, 2, it.parts);
}
static norn_status call_norn_data_join(void) { return norn_data_join(rt, it.split); }
static norn_status call_norn_data_rebind(void) { return norn_data_rebind(rt, it.data, memory + 32, 16); }
static norn_status call_norn_data_unregister(void) { return norn_data_unregister(rt, it.data); }
static norn_status call_norn_data_acquire(void) {
    norn_access access = norn_read(it.data);
    norn_token got;
    return norn_data_acquire(rt, &access, 1, FOREVER, &got);
}
static norn_status call_norn_data_release(void) { return norn_data_release(rt, it.hold); }
static norn_status call_norn_data_pointer(void) {
    void *pointer;
    uint64_t bytes;
    return norn_data_pointer(rt, it.data, &pointer, &bytes);
}
static norn_status call_norn_reserve(void) {
    norn_access access = norn_read(it.data);
    uint64_t slot;
    return norn_reserve(rt, &access, 1, &slot);
}
static norn_status call_norn_reserve_abandon(void) { return norn_reserve_abandon(rt, it.slot); }
static norn_status call_norn_group_open(void) {
    norn_group group;
    norn_token done;
    return norn_group_open(rt, "g", (norn_group){0}, &group, &done);
}
static norn_status call_norn_device_open(void) {
    norn_place place;
    return norn_device_open(rt, NULL, &place);
}
static norn_status call_norn_device_get(void) {
    norn_device_info info = NORN_DEVICE_INFO_INIT;
    return norn_device_get(rt, norn_place_of(NORN_PLACE_DEVICE, 0), &info);
}
static norn_status call_norn_copy(void) {
    norn_slice from = norn_slice_at(memory, NORN_BYTE, 8), to = norn_slice_at(memory + 8, NORN_BYTE, 8);
    return norn_copy(rt, &from, &to, NULL, NULL);
}
static norn_status call_norn_fill(void) {
    norn_slice to = norn_slice_at(memory, NORN_BYTE, 8);
    return norn_fill(rt, &to, "x", NULL, NULL);
}
static norn_status call_norn_stream_record(void) {
    norn_token token;
    return norn_stream_record(rt, norn_place_of(NORN_PLACE_DEVICE, 0), NULL, &token);
}
static norn_status call_norn_stream_wait(void) {
    return norn_stream_wait(rt, (norn_token){0}, norn_place_of(NORN_PLACE_DEVICE, 0), NULL, FOREVER);
}
static norn_status call_norn_module_load(void) {
    norn_module module;
    return norn_module_load(rt, norn_place_of(NORN_PLACE_DEVICE, 0), "x", 1, NULL, &module);
}
static norn_status call_norn_kernel_get(void) {
    norn_kernel kernel;
    return norn_kernel_get(rt, (norn_module){0}, "k", &kernel);
}
static norn_status call_norn_launch(void) {
    norn_launch_desc launch = NORN_LAUNCH_INIT;
    return norn_launch(rt, &launch, NULL, NULL);
}
static norn_status call_norn_group_close(void) { return norn_group_close(rt, it.group); }
static norn_status call_norn_version(void) { return norn_version(NULL, NULL, NULL); }
static norn_status call_norn_status_name(void) {
    CHECK(norn_status_name(NORN_OK) != NULL);
    return NORN_E_INTERNAL;
}
static norn_status call_norn_last_error(void) {
    CHECK(norn_last_error() != NULL);
    return NORN_E_INTERNAL;
}
static norn_status call_norn_open_version(void) {
    norn_runtime *another;
    return norn_open_version(NORN_HEADER_VERSION, NULL, &another);
}
static norn_status call_norn_close(void) { return norn_close(rt); }
static norn_status call_norn_close_with(void) { return norn_close_with(rt, NORN_CANCEL, 20 * SECOND); }
static norn_status call_norn_drain(void) { return norn_drain(rt, 0); }
static norn_status call_norn_progress(void) { return norn_progress(rt); }
static norn_status call_norn_seal(void) { return norn_seal(rt); }
static norn_status call_norn_stats(void) {
    norn_runtime_stats stats = NORN_RUNTIME_STATS_INIT;
    return norn_stats(rt, &stats);
}
static norn_status call_norn_dump(void) { return norn_dump(rt, NORN_DUMP_TEXT, write_nothing, NULL); }
static norn_status call_norn_intern(void) {
    const char *name;
    return norn_intern(rt, "name", &name);
}
static norn_status call_norn_mpi_register(void) { return norn_mpi_register(NULL); }
static norn_status call_norn_world_attach_f(void) {
    norn_world *world;
    return norn_world_attach_f(rt, 0, NULL, &world);
}
static norn_status call_norn_world_get(void) {
    norn_world_info info = NORN_WORLD_INFO_INIT;
    return norn_world_get(NULL, &info);
}
static norn_status call_norn_world_flush(void) { return norn_world_flush(NULL, 0); }
static norn_status call_norn_world_fail(void) { return norn_world_fail(NULL, 1, "text"); }
static norn_status call_norn_world_detach(void) { return norn_world_detach(NULL, 0); }
static norn_status call_norn_world_lane(void) {
    norn_world *lane;
    return norn_world_lane(NULL, &lane);
}
static norn_status call_norn_send(void) {
    norn_slice slice = NORN_SLICE_INIT;
    return norn_send(NULL, &slice, 0, 0, NULL, NULL);
}
static norn_status call_norn_recv(void) {
    norn_slice slice = NORN_SLICE_INIT;
    return norn_recv(NULL, &slice, 0, 0, NULL, NULL);
}
static norn_status call_norn_barrier(void) { return norn_barrier(NULL, NULL, NULL); }
static norn_status call_norn_bcast(void) {
    norn_slice slice = NORN_SLICE_INIT;
    return norn_bcast(NULL, &slice, 0, NULL, NULL);
}
static norn_status call_norn_reduce(void) {
    norn_slice slice = NORN_SLICE_INIT;
    return norn_reduce(NULL, &slice, &slice, NORN_SUM, 0, NULL, NULL);
}
static norn_status call_norn_allreduce(void) {
    norn_slice slice = NORN_SLICE_INIT;
    return norn_allreduce(NULL, &slice, &slice, NORN_SUM, NULL, NULL);
}
static norn_status call_norn_gather(void) {
    norn_slice slice = NORN_SLICE_INIT;
    return norn_gather(NULL, &slice, &slice, NULL, 0, NULL, NULL);
}
static norn_status call_norn_scatter(void) {
    norn_slice slice = NORN_SLICE_INIT;
    return norn_scatter(NULL, &slice, &slice, NULL, 0, NULL, NULL);
}
static norn_status call_norn_allgather(void) {
    norn_slice slice = NORN_SLICE_INIT;
    return norn_allgather(NULL, &slice, &slice, NULL, NULL, NULL);
}
static norn_status call_norn_alltoall(void) {
    norn_slice slice = NORN_SLICE_INIT;
    return norn_alltoall(NULL, &slice, NULL, &slice, NULL, NULL, NULL);
}
static norn_status call_norn_submit(void) {
    norn_task task = task_of(body_nothing, NULL);
    return norn_submit(rt, &task, NULL);
}
static norn_status call_norn_submit_many(void) {
    norn_task tasks[2] = {task_of(body_nothing, NULL), task_of(body_nothing, NULL)};
    return norn_submit_many(rt, tasks, 2, NULL);
}
static norn_status call_norn_declare(void) {
    norn_token token;
    return norn_declare(rt, NULL, &token);
}
static norn_status call_norn_promise(void) {
    norn_token token;
    return norn_promise(rt, NULL, &token);
}
static norn_status call_norn_fulfill(void) { return norn_fulfill(rt, it.promise); }
static norn_status call_norn_fail(void) { return norn_fail(rt, it.promise, 3, "text"); }
static norn_status call_norn_edge(void) { return norn_edge(rt, it.promise, it.declared); }
static norn_status call_norn_start(void) { return norn_start(rt, it.held); }
static norn_status call_norn_await(void) { return norn_await(rt, it.done, FOREVER); }
static norn_status call_norn_await_all(void) { return norn_await_all(rt, &it.done, 1, FOREVER); }
static norn_status call_norn_await_any(void) {
    uint64_t index;
    return norn_await_any(rt, &it.done, 1, FOREVER, &index);
}
static norn_status call_norn_test(void) {
    int32_t done;
    return norn_test(rt, it.done, &done);
}
static norn_status call_norn_cancel(void) { return norn_cancel(rt, it.cancellable); }
static norn_status call_norn_error(void) {
    norn_error_info info = NORN_ERROR_INFO_INIT;
    return norn_error(rt, it.done, &info);
}
static norn_status call_norn_on_complete(void) { return norn_on_complete(rt, it.promise, complete_nothing, NULL); }
static norn_status call_norn_eventfd(void) {
    int32_t fd;
    return norn_eventfd(rt, it.done, &fd);
}

/* How far a panic in the function reaches. */
enum reach {
    POISONS, /* the runtime it was called on */
    HARMLESS /* it was called on none */
};
typedef struct function {
    const char *name;
    norn_status (*call)(void);
    enum reach reach;
} function;
#define F(name, reach) {#name, call_##name, reach}
static const function functions[] = {
    F(norn_await, POISONS),           F(norn_await_all, POISONS),   F(norn_await_any, POISONS),
    F(norn_cancel, POISONS),          F(norn_close, POISONS),       F(norn_close_with, POISONS),
    F(norn_data_acquire, POISONS),    F(norn_data_alloc, POISONS),  F(norn_data_join, POISONS),
    F(norn_data_pointer, POISONS),    F(norn_data_rebind, POISONS), F(norn_data_register, POISONS),
    F(norn_data_release, POISONS),    F(norn_data_split, POISONS),  F(norn_data_unregister, POISONS),
    F(norn_declare, POISONS),         F(norn_drain, POISONS),       F(norn_dump, POISONS),
    F(norn_edge, POISONS),            F(norn_error, POISONS),       F(norn_eventfd, POISONS),
    F(norn_fail, POISONS),            F(norn_fulfill, POISONS),     F(norn_group_close, POISONS),
    F(norn_group_open, POISONS),      F(norn_intern, POISONS),      F(norn_last_error, HARMLESS),
    F(norn_mpi_register, HARMLESS),   F(norn_on_complete, POISONS), F(norn_open_version, HARMLESS),
    F(norn_progress, POISONS),        F(norn_promise, POISONS),     F(norn_reserve, POISONS),
    F(norn_reserve_abandon, POISONS), F(norn_seal, POISONS),        F(norn_self_fail, POISONS),
    F(norn_self_get, POISONS),        F(norn_self_hold, POISONS),   F(norn_self_provider, POISONS),
    F(norn_self_release, POISONS),    F(norn_start, POISONS),       F(norn_stats, POISONS),
    F(norn_status_name, HARMLESS),    F(norn_submit, POISONS),      F(norn_submit_many, POISONS),
    F(norn_test, POISONS),            F(norn_unhold, POISONS),      F(norn_version, HARMLESS),
    F(norn_world_attach_f, POISONS),
    F(norn_world_get, HARMLESS),
    F(norn_world_flush, HARMLESS),
    F(norn_world_fail, HARMLESS),
    F(norn_world_detach, HARMLESS),
    F(norn_world_lane, HARMLESS),
    F(norn_send, HARMLESS),
    F(norn_recv, HARMLESS),
    F(norn_barrier, HARMLESS),
    F(norn_bcast, HARMLESS),
    F(norn_reduce, HARMLESS),
    F(norn_allreduce, HARMLESS),
    F(norn_gather, HARMLESS),
    F(norn_scatter, HARMLESS),
    F(norn_allgather, HARMLESS),
    F(norn_alltoall, HARMLESS),
    F(norn_copy, POISONS),
    F(norn_device_get, POISONS),
    F(norn_device_open, POISONS),
    F(norn_fill, POISONS),
    F(norn_kernel_get, POISONS),
    F(norn_launch, POISONS),
    F(norn_module_load, POISONS),
    F(norn_stream_record, POISONS),
    F(norn_stream_wait, POISONS),
};

static int32_t body_holds(norn_self *self, void *arg) {
    (void)arg;
    CHECK_OK(norn_self_hold(self, 1));
    return 0;
}
static void prepare(size_t waiting) {
    const norn_piece pieces[] = {{0, 8, 1, 0}, {8, 8, 1, 0}};
    norn_data other = datum_of(rt, memory + 16, 16, "other");
    norn_access access = norn_write(other);
    norn_task task = task_of(body_nothing, NULL);
    never = promised(rt, "never");
    it.data = datum_of(rt, memory, 16, "data");
    it.split = datum_of(rt, memory + 48, 16, "split");
    CHECK_OK(norn_data_split(rt, it.split, pieces, 2, it.parts));
    it.declared = declared(rt, "declared");
    it.promise = promised(rt, "promise");
    it.done = submit_run(rt, body_nothing, NULL);
    CHECK_OK(norn_await(rt, it.done, FOREVER));
    it.cancellable = promised(rt, "cancellable");
    CHECK_OK(norn_reserve(rt, &access, 1, &it.slot));
    CHECK_OK(norn_group_open(rt, "group", (norn_group){0}, &it.group, &it.hold));
    norn_access held = norn_read(pure_name(rt, "acquired"));
    CHECK_OK(norn_data_acquire(rt, &held, 1, FOREVER, &it.hold));
    it.holding = submit_run(rt, body_holds, NULL);
    CHECK_STATUS(norn_await(rt, it.holding, 0), NORN_E_TIMEOUT);
    task.flags = NORN_HELD;
    it.held = submit(rt, &task);
    CHECK_OK(norn_eventfd(rt, never, &poll_fd));
    submit_run(rt, body_awaits, NULL);
    start_waiters(waiting);
    WAIT_FOR(body_blocked);
}

static int test_function(const char *place) {
    size_t length = strcspn(place, ".");
    const function *tested = NULL;
    for (size_t i = 0; i < COUNT_OF(functions); i++)
        if (strlen(functions[i].name) == length && strncmp(functions[i].name, place, length) == 0) tested = &functions[i];
    if (tested == NULL) {
        fprintf(stderr, "panics.c does not call %s\n", place);
        return 1;
    }
    CHECK_OK(open_watched());
    int ends = strcmp(place, "norn_close.end") == 0 || strcmp(place, "norn_close_with.end") == 0;
    prepare(ends || tested->reach == HARMLESS ? 1 : 3);
    if (ends) CHECK_OK(norn_unhold(rt, it.holding, 1)); /* the close waits for it */
    plant_panic(place, 1);
    CHECK_STATUS(tested->call(), NORN_E_INTERNAL);
    CHECK_EQUAL(planted_panics(), 1);
    int without_text = tested->call == call_norn_status_name || tested->call == call_norn_last_error;
    int in_a_body = strncmp(place, "norn_self", 9) == 0;
    if (!without_text && !in_a_body) CHECK_SAYS("planted panic at norn_");
    if (tested->reach == HARMLESS) {
        CHECK_OK(norn_fulfill(rt, never));
        CHECK_OK(norn_unhold(rt, it.holding, 1));
        CHECK_OK(norn_close_with(rt, NORN_CANCEL, FOREVER));
        join_waiters(NORN_OK);
        return 0;
    }
    CHECK(readable(poll_fd));
    if (ends) {
        CHECK_STATUS(norn_close(rt), NORN_E_INVALID);
        join_waiters(NORN_OK); /* each ended in its own way */
        return 0;
    }
    CHECK_STATUS(norn_seal(rt), NORN_E_INTERNAL);
    CHECK_SAYS("planted panic");
    CHECK_STATUS(norn_await(rt, never, FOREVER), NORN_E_INTERNAL);
    join_waiters(NORN_E_INTERNAL);
    CHECK(told);
    CHECK_STATUS(norn_close(rt), NORN_E_INTERNAL);
    CHECK_SAYS("planted panic");
    CHECK_STATUS(norn_close(rt), NORN_E_INVALID);
    /* The process is none the worse for it. */
    CHECK_OK(norn_open(NULL, &rt));
    CHECK_OK(norn_await(rt, submit_run(rt, body_nothing, NULL), FOREVER));
    CHECK_OK(norn_close(rt));
    return 0;
}

/* ----- a place inside norn ----- */

static norn_data sum, turn;
static norn_data_desc sum_desc;
static int64_t total;
static void zero(void *copy, uint64_t bytes, void *arg) {
    (void)arg;
    memset(copy, 0, bytes);
}
static void add(void *into, const void *from, uint64_t bytes, void *arg) {
    (void)arg;
    (void)bytes;
    *(int64_t *)into += *(const int64_t *)from;
}
static int32_t body_adds(norn_self *self, void *arg) {
    void *copy = NULL;
    (void)self;
    (void)arg;
    if (note(norn_data_pointer(rt, sum, &copy, NULL)) == NORN_OK) ++*(int64_t *)copy;
    return 0;
}
static int32_t body_parent(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    for (int i = 0; i < 3; i++) {
        norn_task child = task_of(body_nothing, NULL);
        norn_access access = norn_update(turn);
        child.flags = NORN_CHILD;
        child.accesses = &access;
        child.access_count = 1;
        TRY(norn_submit(rt, &child, NULL));
    }
    TRY(norn_self_release(self, sum));
    return 0;
}
static void dropped(void *arg) { atomic_fetch_add((atomic_int *)arg, 1); }
static void *thread_fulfils(void *arg) {
    TRY(norn_fulfill(rt, *(norn_token *)arg));
    return NULL;
}
static void try_submit(norn_task_fn run, void *arg, uint32_t flags, int32_t cpus, int32_t place, const norn_access *accesses,
                       uint64_t count, norn_token after, norn_token *token) {
    norn_task task = task_of(run, arg);
    task.flags = flags;
    task.cpus = cpus;
    task.place.kind = place;
    task.accesses = accesses;
    task.access_count = count;
    task.after = &after;
    task.after_count = 1;
    TRY(norn_submit(rt, &task, token));
}

static int32_t enqueue_nothing(norn_self *self, void *stream, void *arg) {
    (void)self;
    (void)stream;
    (void)arg;
    return 0;
}

/* Where there is a device, or the stand-in for one. */
static void use_device(void) {
    norn_place place;
    norn_token token = {0};
    norn_task task = NORN_TASK_INIT;
    if (note(norn_device_open(rt, NULL, &place)) != NORN_OK) return;
    task.enqueue = enqueue_nothing;
    task.place = place;
    TRY(norn_submit(rt, &task, &token));
    note(norn_await(rt, token, FOREVER));
}

static void use_everything(void) {
    static atomic_int drops;
    const norn_token nothing = {0};
    const norn_piece pieces[] = {{0, 8, 1, 0}, {8, 8, 1, 0}};
    norn_data data = {0}, own = {0}, parts[2] = {{0}};
    norn_token token = {0}, kept = {0}, bound = {0}, many[3], got = {0};
    norn_group group = {0};
    norn_data_desc desc = NORN_DATA_DESC_INIT;
    norn_runtime_stats stats = NORN_RUNTIME_STATS_INIT;
    uint64_t slot = 0, index = 0;
    int32_t done = 0;
    pthread_t thread;
    int fd = -1;

    TRY(norn_promise(rt, "never", &never));
    TRY(norn_eventfd(rt, never, &poll_fd));
    start_waiters(3);
    static int64_t limits[] = {FOREVER, 3600 * SECOND};
    pthread_t keeper;
    TRY(norn_promise(rt, "soon", &soon));
    try_submit(body_awaits_soon, &limits[0], 0, 1, 0, NULL, 0, nothing, NULL);
    try_submit(body_awaits_soon, &limits[1], 0, 1, 0, NULL, 0, nothing, NULL);
    CHECK(pthread_create(&keeper, NULL, thread_keeps_soon, NULL) == 0);

    desc.ptr = memory;
    desc.bytes = 16;
    desc.name = "data";
    TRY(norn_data_register(rt, &desc, &data));
    sum_desc = (norn_data_desc)NORN_DATA_DESC_INIT;
    sum_desc.ptr = &total;
    sum_desc.bytes = sizeof total;
    sum_desc.reduce = (norn_reduction){zero, add, NULL};
    TRY(norn_data_register(rt, &sum_desc, &sum));
    desc.ptr = NULL;
    desc.bytes = 32;
    TRY(norn_data_alloc(rt, &desc, &own));
    desc.bytes = 0;
    TRY(norn_data_register(rt, &desc, &turn));

    /* Chains, readers, reductions, commuters, several workers, the opener's own. */
    norn_access of_data[] = {norn_update(data), norn_read(own), norn_commute(turn)};
    norn_access of_sum[] = {norn_reduce_into(sum)};
    norn_access of_parent[] = {norn_update(turn), norn_read(sum)};
    for (int i = 0; i < 5; i++) {
        norn_task task = task_of(body_nothing, &drops);
        task.drop = dropped;
        task.accesses = of_data;
        task.access_count = 3;
        TRY(norn_submit(rt, &task, &token));
        try_submit(body_adds, NULL, 0, 1, 0, of_sum, 1, nothing, NULL);
    }
    try_submit(body_parent, NULL, 0, 1, 0, of_parent, 2, token, &token);
    TRY(norn_on_complete(rt, token, complete_nothing, NULL));
    try_submit(body_nothing, NULL, 0, 2, 0, NULL, 0, token, &token);
    try_submit(body_nothing, NULL, 0, 1, NORN_PLACE_OPENER, NULL, 0, token, &token);
    TRY(norn_await(rt, token, FOREVER));

    use_device();

    /* Bound late, promised, failed, cancelled, held, grouped, many. */
    TRY(norn_declare(rt, "bound", &bound));
    TRY(norn_promise(rt, "kept", &kept));
    TRY(norn_edge(rt, kept, bound));
    CHECK(pthread_create(&thread, NULL, thread_fulfils, &kept) == 0);
    norn_task late = task_of(body_nothing, NULL);
    late.as = bound;
    late.accesses = of_data;
    late.access_count = 1;
    TRY(norn_submit(rt, &late, NULL));
    pthread_join(thread, NULL);
    note(norn_await(rt, bound, FOREVER));
    try_submit(body_fail, NULL, 0, 1, 0, NULL, 0, nothing, &token);
    norn_status failed = note(norn_await(rt, token, FOREVER));
    CHECK(failed == NORN_E_TASK_FAILED || planted_panics() > 0);
    try_submit(body_nothing, NULL, NORN_HELD, 1, 0, NULL, 0, nothing, &token);
    TRY(norn_cancel(rt, token));
    try_submit(body_nothing, NULL, NORN_HELD, 1, 0, NULL, 0, nothing, &token);
    TRY(norn_start(rt, token));
    TRY(norn_group_open(rt, "group", group, &group, &many[0]));
    norn_task member = task_of(body_nothing, NULL);
    member.group = group;
    TRY(norn_submit(rt, &member, NULL));
    TRY(norn_group_close(rt, group));
    norn_task batch[2] = {task_of(body_nothing, NULL), task_of(body_nothing, NULL)};
    many[1] = many[2] = nothing;
    TRY(norn_submit_many(rt, batch, 2, many + 1));
    TRY(norn_await_all(rt, many, 3, FOREVER));
    TRY(norn_await_any(rt, many, 3, FOREVER, &index));

    /* Places and pieces; asking. */
    TRY(norn_reserve(rt, of_data, 1, &slot));
    TRY(norn_reserve_abandon(rt, slot));
    if (note(norn_data_acquire(rt, of_data, 1, FOREVER, &got)) == NORN_OK) TRY(norn_data_release(rt, got));
    TRY(norn_data_split(rt, data, pieces, 2, parts));
    TRY(norn_data_join(rt, data));
    TRY(norn_data_rebind(rt, data, memory + 16, 16));
    TRY(norn_data_unregister(rt, data));
    TRY(norn_eventfd(rt, token, &fd));
    TRY(norn_test(rt, token, &done));
    TRY(norn_stats(rt, &stats));
    TRY(norn_dump(rt, NORN_DUMP_TEXT, write_nothing, NULL));

    CHECK(pthread_join(keeper, NULL) == 0);

    /* An end of everybody's wait, by the promise or by the panic. */
    TRY(norn_fulfill(rt, never));
    join_waiters(NORN_OK);
    TRY(norn_drain(rt, FOREVER));
    CHECK(planted_panics() > 0 || total == 5);
    CHECK(planted_panics() > 0 || drops == 5);
    CHECK(poll_fd < 0 || readable(poll_fd));
}

static int test_point(const char *point, uint64_t nth) {
    plant_panic(point, nth);
    norn_status opened = note(open_watched());
    if (opened != NORN_OK) {
        CHECK_STATUS(opened, NORN_E_INTERNAL);
        CHECK_SAYS("planted panic");
        CHECK_EQUAL(planted_panics(), 1);
        return 0;
    }
    use_everything();
    norn_status closed = note(norn_close(rt));
    CHECK(closed == NORN_OK || planted_panics() == 1);
    if (planted_panics() == 0) return NOT_REACHED;
    CHECK(internal || told);
    if (closed == NORN_E_INTERNAL) CHECK_SAYS("planted panic");
    /* A panic at the end of a close has closed, one at its begin has not. */
    norn_status again = norn_close(rt);
    CHECK(again == NORN_E_INVALID || (closed == NORN_E_INTERNAL && again == NORN_E_INTERNAL));
    CHECK_STATUS(norn_close(rt), NORN_E_INVALID);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; i < COUNT_OF(functions); i++) puts(functions[i].name);
        return 0;
    }
    CHECK(argc >= 3);
    alarm(30); /* a hang is a failure */
    if (strcmp(argv[1], "function") == 0) return test_function(argv[2]);
    CHECK(argc == 4 && strcmp(argv[1], "point") == 0);
    return test_point(argv[2], strtoull(argv[3], NULL, 10));
}
