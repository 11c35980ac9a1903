/* Data, groups, tokens and runtimes may be ended in any order, twice, and as nothing. */
#include "check.h"

enum { DATUM, GROUP, TOKEN, RUNTIME, KINDS };
static void end(int kind, norn_runtime *rt, norn_data data, norn_group group, norn_token token) {
    /* A status each time: success, or an error because something was ended before. */
    if (kind == DATUM) norn_data_unregister(rt, data);
    if (kind == GROUP) norn_group_close(rt, group);
    if (kind == TOKEN) norn_cancel(rt, token);
    if (kind == RUNTIME) norn_close(rt);
}

int main(void) {
    static int value;
    for (int twice = 0; twice < 2; twice++)
        for (int code = 0; code < KINDS * KINDS * KINDS * KINDS; code++) {
            const int order[KINDS] = {code % 4, code / 4 % 4, code / 16 % 4, code / 64};
            int seen = 0;
            for (int i = 0; i < KINDS; i++) seen |= 1 << order[i];
            if (seen != (1 << KINDS) - 1) continue;
            norn_runtime *rt = open_plain();
            norn_data data = datum_of(rt, &value, sizeof value, "datum");
            norn_group group;
            norn_token done;
            CHECK_OK(norn_group_open(rt, "group", (norn_group){0}, &group, &done));
            norn_access access = norn_update(data);
            norn_task task = task_of(body_nothing, NULL);
            task.group = group;
            task.accesses = &access;
            task.access_count = 1;
            norn_token token = {0};
            for (int i = 0; i < 10; i++) token = submit(rt, &task);
            for (int i = 0; i < KINDS; i++)
                for (int k = 0; k <= twice; k++) end(order[i], rt, data, group, token);
            for (int i = 0; i < KINDS; i++) {
                end(i, rt, data, group, token);
                end(i, NULL, (norn_data){0}, (norn_group){0}, (norn_token){0});
            }
            CHECK_STATUS(norn_progress(rt), NORN_E_INVALID);
        }
    return 0;
}
