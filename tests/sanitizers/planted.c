/*
 * Faults planted for the sanitizers: run.sh asks for one by name and demands its report. The last two are read by
 * norn and not by this program, so only a norn that was built under the sanitizer can show them.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#include "check.h"

static void *volatile lost;

static int32_t overrun(norn_self *self, void *arg) {
    char *volatile memory = malloc(16);
    (void)self;
    (void)arg;
    memory[16] = 1;
    free(memory);
    return 0;
}

static int32_t leak(norn_self *self, void *arg) {
    (void)self;
    (void)arg;
    lost = malloc(4321);
    lost = NULL;
    return 0;
}

/*
 * Both bodies are running when they write, and nothing orders them: a relaxed counter is no order. Each writes many
 * times, since ThreadSanitizer keeps its own records without a lock and may miss two writes of the same moment; and
 * only writes, so that its report is always of two writes.
 */
static volatile int shared;
static int32_t race(norn_self *self, void *arg) {
    static atomic_int running;
    (void)self;
    (void)arg;
    atomic_fetch_add_explicit(&running, 1, memory_order_relaxed);
    while (atomic_load_explicit(&running, memory_order_relaxed) < 2) sched_yield();
    for (int i = 0; i < 1000; i++) {
        shared = i;
        if (i % 10 == 0) sched_yield();
    }
    return 0;
}

/* The structure says that it is as long as norn knows it, and its memory is shorter. */
static void short_structure(norn_runtime *rt) {
    const norn_task whole = task_of(body_nothing, NULL);
    const size_t bytes = sizeof whole - sizeof whole.as;
    norn_task *task = malloc(bytes);
    CHECK(task != NULL);
    memcpy(task, &whole, bytes);
    (void)norn_submit(rt, task, NULL);
    free(task);
}

/* Another thread writes to the structure while norn reads it. */
static norn_task unguarded;
static atomic_int writing;
static void *write_structure(void *arg) {
    (void)arg;
    for (int i = 0; i < 1000; i++) {
        *(volatile int32_t *)&unguarded.priority = i;
        atomic_store_explicit(&writing, 1, memory_order_relaxed);
    }
    return NULL;
}
static void changing_structure(norn_runtime *rt) {
    pthread_t writer;
    unguarded = task_of(body_nothing, NULL);
    CHECK(pthread_create(&writer, NULL, write_structure, NULL) == 0);
    while (!atomic_load_explicit(&writing, memory_order_relaxed)) sched_yield();
    for (int i = 0; i < 100; i++) CHECK_OK(norn_submit(rt, &unguarded, NULL));
    pthread_join(writer, NULL);
}

int main(int count, char **names) {
    const char *fault = count == 2 ? names[1] : "";
    norn_runtime *rt = open_workers(2);
    if (strcmp(fault, "overrun") == 0) {
        submit_run(rt, overrun, NULL);
    } else if (strcmp(fault, "leak") == 0) {
        submit_run(rt, leak, NULL);
    } else if (strcmp(fault, "race") == 0) {
        submit_run(rt, race, NULL);
        submit_run(rt, race, NULL);
    } else if (strcmp(fault, "short-structure") == 0) {
        short_structure(rt);
    } else if (strcmp(fault, "changing-structure") == 0) {
        changing_structure(rt);
    } else if (strcmp(fault, "none") != 0) {
        fprintf(stderr, "planted: no fault \"%s\"\n", fault);
        return 2;
    }
    CHECK_OK(norn_close(rt));
    return 0;
}
