// For LD_PRELOAD: makes the MPI of a program one that takes device memory, by the driver that the program has. Like Open MPI
// built with CUDA, it needs a context that is current where it is called, and ends the program where there is none. Stands in
// for the calls by which norn sends, receives and tests; messages in flight are few.
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 4096

int MPIX_Query_cuda_support(void);
int MPIX_Query_cuda_support(void) { return 1; }
int MPIX_GPU_query_support(int kind, int *is);
int MPIX_GPU_query_support(int kind, int *is) {
    *is = kind == 0; /* CUDA's */
    return MPI_SUCCESS;
}

static struct {
    int (*context)(void **context);
    int (*attribute)(void *value, int attribute, unsigned long long address);
    int (*down)(void *to, unsigned long long from, size_t bytes);
    int (*up)(unsigned long long to, const void *from, size_t bytes);
    int (*finish)(void *stream);
} cu;

/* A message whose memory is a device's: MPI has `copy` meanwhile. */
typedef struct message {
    MPI_Request request;
    void *memory, *copy;
    size_t bytes;
    int receives;
} message;
static message messages[MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void expect(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "an MPI that takes device memory: %s\n", what);
    abort();
}
static void find(void *to, void *driver, const char *name) {
    void *found = dlsym(driver, name);
    expect(found != NULL, name);
    memcpy(to, &found, sizeof found);
}
static void expect_context(void) {
    void *context = NULL;
    expect(cu.context(&context) == 0 && context != NULL, "no context is current on the thread that calls");
}

/* Whether an address is a device's, in a process that has a driver. */
static int is_of_device(const void *address) {
    int kind = 0;
    if (cu.context == NULL) {
        void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
        if (driver == NULL) return 0;
        find(&cu.attribute, driver, "cuPointerGetAttribute");
        find(&cu.down, driver, "cuMemcpyDtoH_v2");
        find(&cu.up, driver, "cuMemcpyHtoD_v2");
        find(&cu.finish, driver, "cuStreamSynchronize");
        find(&cu.context, driver, "cuCtxGetCurrent");
    }
    /* CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_MEMORYTYPE_DEVICE */
    return address != NULL && cu.attribute(&kind, 2, (uintptr_t)address) == 0 && kind == 2;
}

/* The memory that a message covers, copied to the host. */
static void *copy_of(const void *memory, int count, MPI_Datatype type, size_t *bytes) {
    MPI_Aint low, extent, true_low, true_extent;
    PMPI_Type_get_extent(type, &low, &extent);
    PMPI_Type_get_true_extent(type, &true_low, &true_extent);
    *bytes = count == 0 ? 0 : (size_t)((count - 1) * extent + true_low + true_extent);
    void *copy = malloc(*bytes + 1);
    expect(copy != NULL && true_low >= 0 && extent >= 0, "memory, or a type it knows");
    expect_context();
    expect(*bytes == 0 || cu.down(copy, (uintptr_t)memory, *bytes) == 0, "a copy from the device failed");
    return copy;
}
static void keep(message one) {
    int place = 0;
    pthread_mutex_lock(&lock);
    while (place < MOST && messages[place].copy != NULL) place++;
    expect(place < MOST, "too many messages");
    messages[place] = one;
    pthread_mutex_unlock(&lock);
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request) {
    message one = {0};
    if (!is_of_device(buffer)) return PMPI_Isend(buffer, count, type, dest, tag, comm, request);
    one.copy = copy_of(buffer, count, type, &one.bytes);
    const int code = PMPI_Isend(one.copy, count, type, dest, tag, comm, request);
    one.request = *request;
    keep(one);
    return code;
}
int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request) {
    message one = {.memory = buffer, .receives = 1};
    if (!is_of_device(buffer)) return PMPI_Irecv(buffer, count, type, source, tag, comm, request);
    one.copy = copy_of(buffer, count, type, &one.bytes);
    const int code = PMPI_Irecv(one.copy, count, type, source, tag, comm, request);
    one.request = *request;
    keep(one);
    return code;
}

static void end_of(MPI_Request request) {
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST; i++) {
        message *one = &messages[i];
        if (one->copy == NULL || one->request != request) continue;
        if (one->receives) {
            expect_context();
            expect(one->bytes == 0 || cu.up((uintptr_t)one->memory, one->copy, one->bytes) == 0, "a copy to the device failed");
            /* Of memory that is not pinned the copy may still be on its way; kernels on other streams do not wait for it. */
            expect(cu.finish(NULL) == 0, "a copy to the device failed");
        }
        free(one->copy);
        one->copy = NULL;
        break;
    }
    pthread_mutex_unlock(&lock);
}
int MPI_Testsome(int count, MPI_Request requests[], int *finished, int indices[], MPI_Status statuses[]) {
    MPI_Request *before = malloc((size_t)count * sizeof *before + 1);
    expect(before != NULL, "memory");
    memcpy(before, requests, (size_t)count * sizeof *before);
    const int code = PMPI_Testsome(count, requests, finished, indices, statuses);
    for (int i = 0; i < *finished; i++) end_of(before[indices[i]]);
    free(before);
    return code;
}
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    const MPI_Request before = *request;
    const int code = PMPI_Test(request, flag, status);
    if (*flag) end_of(before);
    return code;
}
