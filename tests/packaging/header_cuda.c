/* norn_cuda.h alone, without a header of CUDA's. */
#include <norn_cuda.h>

int32_t enqueue(norn_self *self, void *stream, void *arg);
int32_t enqueue(norn_self *self, void *stream, void *arg) {
    struct cublasContext *handle = NULL;
    norn_task task = NORN_TASK_INIT;
    (void)arg;
    norn_cuda_pin(&task, norn_cuda_stream(stream));
    return norn_cuda_check(self, norn_cuda_cublas(self, &handle), "cublas");
}
