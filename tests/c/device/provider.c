/* An enqueue body gets a cuBLAS and a cuSOLVER handle with their stream set, the same ones while it runs, and bodies after it use
 * them again.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/raw.h"

#include <norn_cuda.h>

/* One of the two libraries: its handles as norn leases them, and how its own call tells a handle's stream. */
typedef struct provider {
    const char *files[2], *get_stream;
    norn_status (*lease)(norn_self *, void **);
    atomic_int missing, made;
    void *seen[64];
} provider;

static norn_status lease_cublas(norn_self *self, void **handle) {
    struct cublasContext *leased = NULL;
    norn_status status = norn_cuda_cublas(self, &leased);
    *handle = leased;
    return status;
}
static norn_status lease_cusolver(norn_self *self, void **handle) {
    struct cusolverDnContext *leased = NULL;
    norn_status status = norn_cuda_cusolver(self, &leased);
    *handle = leased;
    return status;
}

static provider providers[] = {
    {.files = {"libcublas.so.13", "libcublas.so.12"}, .get_stream = "cublasGetStream_v2", .lease = lease_cublas},
    {.files = {"libcusolver.so.12", "libcusolver.so.11"}, .get_stream = "cusolverDnGetStream", .lease = lease_cusolver}};

static int32_t ask(norn_self *self, void *stream, void *arg) {
    provider *of = arg;
    void *handle = NULL, *again = NULL, *none = NULL;
    norn_status status = of->lease(self, &handle);
    if (status == NORN_E_UNSUPPORTED) {
        atomic_store(&of->missing, 1);
        return 0;
    }
    CHECK_OK(status);
    CHECK_OK(of->lease(self, &again));
    CHECK(handle != NULL && handle == again);
    CHECK_STATUS(norn_self_provider(self, 77, &none), NORN_E_INVALID);
    int (*get_stream)(void *, void **);
    void *library = dlopen(of->files[0], RTLD_NOW | RTLD_NOLOAD), *set = NULL;
    if (library == NULL) library = dlopen(of->files[1], RTLD_NOW | RTLD_NOLOAD);
    if (library != NULL) {
        *(void **)&get_stream = dlsym(library, of->get_stream);
        CHECK(get_stream != NULL && get_stream(handle, &set) == 0);
        CHECK(set == stream);
    }
    int count = atomic_load(&of->made), known = 0;
    for (int i = 0; i < count; i++) known |= of->seen[i] == handle;
    if (!known) {
        CHECK(count < 64);
        of->seen[count] = handle;
        atomic_store(&of->made, count + 1);
    }
    return 0;
}
static int32_t on_host(norn_self *self, void *arg) {
    void *handle = NULL;
    (void)arg;
    CHECK_STATUS(norn_self_provider(self, NORN_PROVIDER_CUBLAS, &handle), NORN_E_UNSUPPORTED);
    CHECK_STATUS(norn_self_provider(self, NORN_PROVIDER_CUSOLVER, &handle), NORN_E_UNSUPPORTED);
    return 0;
}

int main(void) {
    norn_device_config config = NORN_DEVICE_CONFIG_INIT;
    config.streams = 4;
    device d = device_open_with(&config);
    norn_task task = NORN_TASK_INIT;
    norn_token token;
    task.enqueue = ask;
    for (int i = 0; i < 400; i++) {
        task.arg = &providers[i % 2];
        CHECK_OK(norn_submit(d.rt, &task, NULL));
    }
    CHECK_OK(norn_drain(d.rt, FOREVER));
    task.enqueue = NULL;
    task.run = on_host;
    CHECK_OK(norn_submit(d.rt, &task, &token));
    CHECK_OK(norn_await(d.rt, token, FOREVER));
    CHECK_OK(norn_close(d.rt));
    int found = 0;
    for (size_t i = 0; i < COUNT_OF(providers); i++) {
        if (atomic_load(&providers[i].missing)) continue;
        found++;
        CHECK(atomic_load(&providers[i].made) >= 1 && atomic_load(&providers[i].made) <= 4);
    }
    if (found < 2) {
        printf("skipped: cuBLAS or cuSOLVER is not there\n");
        return SKIPPED;
    }
    return 0;
}
