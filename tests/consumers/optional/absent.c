/* Without a library every call returns NORN_E_UNSUPPORTED and names itself, and the program goes on. */
#include "expect.h"

/* The address of everything is wild, so a call that got through would show. */
#define NONE(name, call)                                                        \
    do {                                                                        \
        EXPECT_STATUS(call, NORN_E_UNSUPPORTED);                                \
        EXPECT(strncmp(norn_last_error(), name ": ", strlen(name) + 2) == 0);   \
        EXPECT(strstr(norn_last_error(), "no libnorn is loaded") != NULL);      \
    } while (0)

static void every_call(void) {
    norn_runtime *rt = NULL;
    norn_self *self = NULL;
    norn_token token = {1};
    norn_data data = {1};
    norn_group group = {1};
    norn_place place = {NORN_PLACE_DEVICE, 0};
    norn_module module = {1};
    norn_world *world = NULL;
    norn_task task = NORN_TASK_INIT;
    NONE("norn_self_get", norn_self_get(self, NULL));
    NONE("norn_self_release", norn_self_release(self, data));
    NONE("norn_self_hold", norn_self_hold(self, 1));
    NONE("norn_unhold", norn_unhold(rt, token, 1));
    NONE("norn_self_provider", norn_self_provider(self, 0, NULL));
    NONE("norn_data_register", norn_data_register(rt, NULL, NULL));
    NONE("norn_data_alloc", norn_data_alloc(rt, NULL, NULL));
    NONE("norn_data_split", norn_data_split(rt, data, NULL, 0, NULL));
    NONE("norn_data_join", norn_data_join(rt, data));
    NONE("norn_data_rebind", norn_data_rebind(rt, data, NULL, 0));
    NONE("norn_data_unregister", norn_data_unregister(rt, data));
    NONE("norn_data_acquire", norn_data_acquire(rt, NULL, 0, 0, NULL));
    NONE("norn_data_release", norn_data_release(rt, token));
    NONE("norn_data_pointer", norn_data_pointer(rt, data, NULL, NULL));
    NONE("norn_reserve", norn_reserve(rt, NULL, 0, NULL));
    NONE("norn_reserve_abandon", norn_reserve_abandon(rt, 1));
    NONE("norn_device_open", norn_device_open(rt, NULL, NULL));
    NONE("norn_device_get", norn_device_get(rt, place, NULL));
    NONE("norn_copy", norn_copy(rt, NULL, NULL, NULL, NULL));
    NONE("norn_fill", norn_fill(rt, NULL, NULL, NULL, NULL));
    NONE("norn_stream_record", norn_stream_record(rt, place, NULL, NULL));
    NONE("norn_stream_wait", norn_stream_wait(rt, token, place, NULL, 0));
    NONE("norn_module_load", norn_module_load(rt, place, NULL, 0, NULL, NULL));
    NONE("norn_kernel_get", norn_kernel_get(rt, module, NULL, NULL));
    NONE("norn_launch", norn_launch(rt, NULL, NULL, NULL));
    NONE("norn_world_attach_f", norn_world_attach_f(rt, 0, NULL, &world));
    NONE("norn_world_get", norn_world_get(world, NULL));
    NONE("norn_world_lane", norn_world_lane(world, &world));
    NONE("norn_world_flush", norn_world_flush(world, 0));
    NONE("norn_world_fail", norn_world_fail(world, 1, NULL));
    NONE("norn_world_detach", norn_world_detach(world, 0));
    NONE("norn_send", norn_send(world, NULL, 0, 1, NULL, &token));
    NONE("norn_recv", norn_recv(world, NULL, 0, 1, NULL, &token));
    NONE("norn_barrier", norn_barrier(world, NULL, &token));
    NONE("norn_bcast", norn_bcast(world, NULL, 0, NULL, &token));
    NONE("norn_reduce", norn_reduce(world, NULL, NULL, NORN_SUM, 0, NULL, &token));
    NONE("norn_allreduce", norn_allreduce(world, NULL, NULL, NORN_SUM, NULL, &token));
    NONE("norn_gather", norn_gather(world, NULL, NULL, NULL, 0, NULL, &token));
    NONE("norn_allgather", norn_allgather(world, NULL, NULL, NULL, NULL, &token));
    NONE("norn_scatter", norn_scatter(world, NULL, NULL, NULL, 0, NULL, &token));
    NONE("norn_alltoall", norn_alltoall(world, NULL, NULL, NULL, NULL, NULL, &token));
    NONE("norn_group_open", norn_group_open(rt, NULL, group, NULL, NULL));
    NONE("norn_group_close", norn_group_close(rt, group));
    NONE("norn_version", norn_version(NULL, NULL, NULL));
    NONE("norn_open", norn_open_version(NORN_HEADER_VERSION, NULL, NULL));
    NONE("norn_open", norn_open(NULL, &rt));
    NONE("norn_close", norn_close(rt));
    NONE("norn_close_with", norn_close_with(rt, NORN_CANCEL, 0));
    NONE("norn_drain", norn_drain(rt, 0));
    NONE("norn_progress", norn_progress(rt));
    NONE("norn_seal", norn_seal(rt));
    NONE("norn_stats", norn_stats(rt, NULL));
    NONE("norn_dump", norn_dump(rt, NORN_DUMP_TEXT, NULL, NULL));
    NONE("norn_mpi_register", norn_mpi_register(NULL));
    NONE("norn_intern", norn_intern(rt, "a", NULL));
    NONE("norn_submit", norn_submit(rt, &task, NULL));
    NONE("norn_submit_many", norn_submit_many(rt, &task, 1, NULL));
    NONE("norn_declare", norn_declare(rt, NULL, &token));
    NONE("norn_promise", norn_promise(rt, NULL, &token));
    NONE("norn_fulfill", norn_fulfill(rt, token));
    NONE("norn_fail", norn_fail(rt, token, 1, NULL));
    NONE("norn_edge", norn_edge(rt, token, token));
    NONE("norn_start", norn_start(rt, token));
    NONE("norn_await", norn_await(rt, token, 0));
    NONE("norn_await_all", norn_await_all(rt, &token, 1, 0));
    NONE("norn_await_any", norn_await_any(rt, &token, 1, 0, NULL));
    NONE("norn_test", norn_test(rt, token, NULL));
    NONE("norn_cancel", norn_cancel(rt, token));
    NONE("norn_error", norn_error(rt, token, NULL));
    NONE("norn_on_complete", norn_on_complete(rt, token, NULL, NULL));
    NONE("norn_eventfd", norn_eventfd(rt, token, NULL));
    EXPECT(rt == NULL && world == NULL && token.id == 1);
    /* Those that return no status. */
    EXPECT(norn_self_fail(self, 7, "pivot is zero") == 7);
    EXPECT(strcmp(norn_status_name(NORN_OK), "NORN_OK") == 0);
    EXPECT(strcmp(norn_status_name(NORN_E_TASK_FAILED), "NORN_E_TASK_FAILED") == 0);
    EXPECT(strcmp(norn_status_name(1), "NORN_E_UNKNOWN") == 0);
}

int main(void) {
    EXPECT(norn_last_error()[0] == 0);
    EXPECT(norn_dl_error()[0] == 0);
    every_call(); /* before any load */
    for (int attempt = 0; attempt < 2; attempt++) {
        EXPECT_STATUS(norn_dl_load(NULL), NORN_E_UNSUPPORTED);
        EXPECT(strstr(norn_dl_error(), "libnorn.so.") != NULL);
        EXPECT(strcmp(norn_dl_error(), norn_last_error()) == 0);
        EXPECT(norn_dl_missing(0) == NULL);
        every_call();
    }
    return 0;
}
