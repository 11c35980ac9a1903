/* The zero token is complete, wherever a token may stand. */
#include "check.h"

static atomic_int called;
static void on_complete(void *arg, norn_token token, norn_status status) {
    CHECK(arg == &called && token.id == 0 && status == NORN_OK);
    atomic_fetch_add(&called, 1);
}

int main(void) {
    norn_runtime *rt = open_plain();
    const norn_token zero = {0};
    const norn_token zeros[3] = {{0}, {0}, {0}};
    CHECK(is_done(rt, zero));
    CHECK_OK(norn_await(rt, zero, 0));
    CHECK_OK(norn_await(rt, zero, FOREVER));
    CHECK_OK(norn_await_all(rt, zeros, 3, FOREVER));
    uint64_t index = 9;
    CHECK_OK(norn_await_any(rt, zeros, 3, FOREVER, &index));
    CHECK_EQUAL(index, 0);
    CHECK_EQUAL(record_of(rt, zero).status, NORN_OK);
    CHECK_STATUS(norn_cancel(rt, zero), NORN_E_TOO_LATE);

    norn_task task = task_of(body_nothing, NULL);
    task.after = zeros;
    task.after_count = 3;
    CHECK_OK(norn_await(rt, submit(rt, &task), FOREVER));
    norn_token unbound = declared(rt, "unbound");
    CHECK_OK(norn_edge(rt, zero, unbound));
    task.as = unbound;
    submit(rt, &task);
    CHECK_OK(norn_await(rt, unbound, FOREVER));

    CHECK_OK(norn_on_complete(rt, zero, on_complete, &called));
    PROGRESS_UNTIL(rt, called == 1);
    int32_t fd = -1;
    CHECK_OK(norn_eventfd(rt, zero, &fd));
    uint64_t value = 0;
    CHECK(read(fd, &value, sizeof value) == (ssize_t)sizeof value && value > 0);
    close(fd);
    CHECK_OK(norn_close(rt));
    CHECK_EQUAL(called, 1);
    return 0;
}
