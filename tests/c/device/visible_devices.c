/* What CUDA_VISIBLE_DEVICES leaves of the devices: a rank that sees one takes it whatever its number, a list turned round is
 * followed, and where none is left, or the driver is a stub or cannot start, that is said and host work goes on (N3, N5).
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/standin.h"

#include <sys/mman.h>
#include <sys/wait.h>

/* What the children find out, and share. */
typedef struct found {
    int32_t skipped;
    char uuid[2][64];
} found;
static found *shared;

static norn_status open_as(norn_runtime *rt, int32_t select, int32_t ordinal, norn_place *place) {
    norn_device_config config = NORN_DEVICE_CONFIG_INIT;
    config.select = select;
    config.ordinal = ordinal;
    return norn_device_open(rt, &config, place);
}
static void uuid_of(norn_runtime *rt, norn_place place, char *uuid) {
    norn_device_info info = NORN_DEVICE_INFO_INIT;
    CHECK_OK(norn_device_get(rt, place, &info));
    snprintf(uuid, 64, "%s", info.uuid);
}

static void all(norn_runtime *rt) {
    norn_place place;
    norn_status first = open_as(rt, NORN_DEVICE_ORDINAL, 0, &place);
    if (first == NORN_E_UNSUPPORTED) {
        printf("skipped: %s\n", norn_last_error());
        shared->skipped = 1;
        return;
    }
    CHECK_OK(first);
    uuid_of(rt, place, shared->uuid[0]);
    if (open_as(rt, NORN_DEVICE_ORDINAL, 1, &place) == NORN_OK) uuid_of(rt, place, shared->uuid[1]);
}
/* Rank 1 of this host sees one device: its ordinal is 0, and so is what rank 1 gets. */
static void one(norn_runtime *rt) {
    norn_place place, again;
    char uuid[64];
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1", 1);
    CHECK_OK(open_as(rt, NORN_DEVICE_LOCAL_RANK, 0, &place));
    uuid_of(rt, place, uuid);
    CHECK(strcmp(uuid, shared->uuid[0]) == 0);
    CHECK_OK(open_as(rt, NORN_DEVICE_ORDINAL, 0, &again));
    CHECK(again.index == place.index);
    CHECK_STATUS(open_as(rt, NORN_DEVICE_ORDINAL, 1, &again), NORN_E_INVALID);
}
static void turned(norn_runtime *rt) {
    norn_place place;
    char uuid[64];
    for (int32_t ordinal = 0; ordinal < 2; ordinal++) {
        CHECK_OK(open_as(rt, NORN_DEVICE_ORDINAL, ordinal, &place));
        uuid_of(rt, place, uuid);
        CHECK(strcmp(uuid, shared->uuid[1 - ordinal]) == 0);
    }
}
static void host_work(norn_runtime *rt) {
    atomic_int ran = 0;
    for (int i = 0; i < 100; i++) submit_run(rt, body_count, &ran);
    CHECK_OK(norn_drain(rt, FOREVER));
    CHECK_EQUAL(atomic_load(&ran), 100);
}
static void none(norn_runtime *rt) {
    norn_place place;
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(open_as(rt, NORN_DEVICE_LOCAL_RANK, 0, &place), NORN_E_UNSUPPORTED);
        CHECK(norn_last_error()[0] != '\0');
    }
    host_work(rt);
}
static void not_started(norn_runtime *rt) {
    norn_place place;
    CHECK_STATUS(open_as(rt, NORN_DEVICE_ORDINAL, 0, &place), NORN_E_UNSUPPORTED);
    CHECK_SAYS("cuInit gave");
    host_work(rt);
}

/* In a child of its own: a process has one driver, which reads its environment once. */
static void with(const char *variable, const char *value, void (*what)(norn_runtime *)) {
    const pid_t child = fork();
    if (child == 0) {
        if (variable != NULL) setenv(variable, value, 1);
        norn_runtime *rt = open_plain();
        what(rt);
        CHECK_OK(norn_close(rt));
        exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("STANDIN_FAIL");
    with(NULL, NULL, all);
    if (shared->skipped) return SKIPPED;
    with("CUDA_VISIBLE_DEVICES", "0", one);
    with("CUDA_VISIBLE_DEVICES", "", none);
    if (shared->uuid[1][0] != '\0') with("CUDA_VISIBLE_DEVICES", "1,0", turned);
    standin_or_skip();
    with("STANDIN_FAIL", "cuInit:1/1:34", none);         /* CUDA_ERROR_STUB_LIBRARY */
    with("STANDIN_FAIL", "cuInit:1/1:803", not_started); /* CUDA_ERROR_SYSTEM_DRIVER_MISMATCH */
    return 0;
}
