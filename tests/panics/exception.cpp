// A C++ exception that leaves a body, drop or callback, which the manual forbids: the process ends by abort at the
// throw. It never goes on with a graph half changed.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <norn.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *where;
static void throw_at(const char *place) {
    if (where[0] == place[0]) throw std::runtime_error("thrown by the application");
}
static int32_t body(norn_self *, void *) {
    throw_at("body");
    return 0;
}
static void drop(void *) { throw_at("drop"); }
static void complete(void *, norn_token, norn_status) { throw_at("on_complete"); }
static void event(void *, norn_token, const char *, int32_t, int32_t) { throw_at("event"); }

static void use(int32_t workers) {
    norn_config config = NORN_CONFIG_INIT;
    norn_runtime *rt;
    norn_token token;
    config.workers = workers;
    config.task_event = event;
    if (norn_open(&config, &rt) != NORN_OK) _exit(2);
    norn_task task = NORN_TASK_INIT;
    task.run = body;
    task.drop = drop;
    task.flags = NORN_HELD;
    if (norn_submit(rt, &task, &token) != NORN_OK || norn_on_complete(rt, token, complete, nullptr) != NORN_OK) _exit(2);
    norn_start(rt, token);
    norn_close(rt);
    _exit(3); // gone on
}

int main() {
    int failed = 0;
    for (const char *place : {"body", "drop", "on_complete", "event"}) {
        for (int32_t workers : {0, 2}) {
            pid_t child = fork();
            if (child == 0) {
                const rlimit no_core = {0, 0};
                setrlimit(RLIMIT_CORE, &no_core);
                alarm(20);
                where = place;
                use(workers);
            }
            int status = 0;
            if (child < 0 || waitpid(child, &status, 0) != child || !WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) {
                std::fprintf(stderr, "%s with %d workers: wait status %#x, not an abort\n", place, (int)workers, (unsigned)status);
                failed = 1;
            }
        }
    }
    return failed;
}
