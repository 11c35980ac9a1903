/* Chains of kernels and host tasks while the application is inside the driver under a lock that the host tasks take too: no
 * deadlock, because no task runs on a thread of the driver's (L1).
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/raw.h"
#include "device/standin.h"

enum { CHAINS = 4, COUNT = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int stop;
static pthread_t main_thread;

static void *allocates(void *arg) {
    (void)arg;
    raw_context();
    while (!stop) {
        uint64_t address;
        pthread_mutex_lock(&lock);
        RAW("cuMemAlloc_v2", (uint64_t *, size_t), (&address, 1 << 16));
        RAW("cuMemFree_v2", (uint64_t), (address));
        pthread_mutex_unlock(&lock);
        usleep(50);
    }
    raw_context_release();
    return NULL;
}

static int32_t add_one(norn_self *self, void *arg) {
    uint64_t *memory = arg;
    char name[16] = "";
    CHECK(pthread_getname_np(pthread_self(), name, sizeof name) == 0);
    if (strncmp(name, "norn:", 5) != 0 && !pthread_equal(pthread_self(), main_thread))
        return norn_self_fail(self, 1, "on a thread that is not norn's");
    pthread_mutex_lock(&lock);
    for (int i = 0; i < COUNT; i++) memory[i]++;
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void) {
    device d = device_open();
    norn_kernel add = device_kernel(&d, "add_one_u64");
    const int length = getenv("NORN_SOAK") != NULL ? 10000 : 60;
    uint64_t count = COUNT, *memory[CHAINS];
    norn_data x[CHAINS], host[CHAINS];
    pthread_t thread;
    main_thread = pthread_self();
    for (int c = 0; c < CHAINS; c++) {
        x[c] = device_alloc(&d, COUNT * 8);
        host[c] = device_pinned(&d, COUNT * 8, &memory[c]);
    }
    CHECK(pthread_create(&thread, NULL, allocates, NULL) == 0);
    for (int n = 0; n < length; n++)
        for (int c = 0; c < CHAINS; c++) {
            norn_argument arguments[2] = {norn_pointer(x[c], NORN_READ_WRITE), norn_value(&count, 8)};
            norn_access access = norn_update(host[c]);
            norn_task task = NORN_TASK_INIT;
            device_copy(&d, host[c], x[c], COUNT);
            device_launch(&d, add, arguments, 2, NULL);
            device_copy(&d, x[c], host[c], COUNT);
            task.run = add_one;
            task.arg = memory[c];
            task.accesses = &access;
            task.access_count = 1;
            CHECK_OK(norn_submit(d.rt, &task, NULL));
        }
    CHECK_OK(norn_drain(d.rt, FOREVER));
    stop = 1;
    CHECK(pthread_join(thread, NULL) == 0);
    for (int c = 0; c < CHAINS; c++)
        for (int i = 0; i < COUNT; i++) CHECK_EQUAL((long long)memory[c][i], 2LL * length);
    CHECK_OK(norn_close(d.rt));
    return 0;
}
