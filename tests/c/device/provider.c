/* An enqueue body gets a cuBLAS handle with its stream set, the same one while it runs, and bodies after it use it again.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/raw.h"

#include <norn_cuda.h>

static atomic_int missing, made;
static struct cublasContext *seen[64];

static int32_t ask(norn_self *self, void *stream, void *arg) {
    struct cublasContext *handle = NULL, *again = NULL;
    void *none = NULL;
    (void)arg;
    norn_status status = norn_cuda_cublas(self, &handle);
    if (status == NORN_E_UNSUPPORTED) {
        atomic_store(&missing, 1);
        return 0;
    }
    CHECK_OK(status);
    CHECK_OK(norn_cuda_cublas(self, &again));
    CHECK(handle != NULL && handle == again);
    CHECK_STATUS(norn_self_provider(self, 77, &none), NORN_E_INVALID);
    int (*get_stream)(struct cublasContext *, void **);
    void *library = dlopen("libcublas.so.13", RTLD_NOW | RTLD_NOLOAD), *set = NULL;
    if (library == NULL) library = dlopen("libcublas.so.12", RTLD_NOW | RTLD_NOLOAD);
    if (library != NULL) {
        *(void **)&get_stream = dlsym(library, "cublasGetStream_v2");
        CHECK(get_stream != NULL && get_stream(handle, &set) == 0);
        CHECK(set == stream);
    }
    int count = atomic_load(&made), known = 0;
    for (int i = 0; i < count; i++) known |= seen[i] == handle;
    if (!known) {
        CHECK(count < 64);
        seen[count] = handle;
        atomic_store(&made, count + 1);
    }
    return 0;
}
static int32_t on_host(norn_self *self, void *arg) {
    void *handle = NULL;
    (void)arg;
    CHECK_STATUS(norn_self_provider(self, NORN_PROVIDER_CUBLAS, &handle), NORN_E_UNSUPPORTED);
    return 0;
}

int main(void) {
    norn_device_config config = NORN_DEVICE_CONFIG_INIT;
    config.streams = 4;
    device d = device_open_with(&config);
    norn_task task = NORN_TASK_INIT;
    norn_token token;
    task.enqueue = ask;
    for (int i = 0; i < 200; i++) CHECK_OK(norn_submit(d.rt, &task, NULL));
    CHECK_OK(norn_drain(d.rt, FOREVER));
    task.enqueue = NULL;
    task.run = on_host;
    CHECK_OK(norn_submit(d.rt, &task, &token));
    CHECK_OK(norn_await(d.rt, token, FOREVER));
    CHECK_OK(norn_close(d.rt));
    if (atomic_load(&missing)) {
        printf("skipped: no cuBLAS\n");
        return SKIPPED;
    }
    CHECK(atomic_load(&made) >= 1 && atomic_load(&made) <= 4);
    return 0;
}
