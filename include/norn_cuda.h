/*
 * norn_cuda.h: the calls of norn.h on devices, with CUDA's own types.
 *
 * It needs no CUDA header: the types below are those that cuda.h, cuda_runtime_api.h, cublas_v2.h and cusolverDn.h name, so a
 * CUstream, a cudaStream_t, a cublasHandle_t and a cusolverDnHandle_t fit as they are.
 *
 *     static int32_t saxpy(norn_self *self, void *stream, void *arg) {
 *         struct call *c = arg;
 *         saxpy_kernel<<<c->blocks, 256, 0, norn_cuda_stream(stream)>>>(c->n, c->a, c->x, c->y);
 *         return norn_cuda_check(self, cudaGetLastError(), "saxpy");
 *     }
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#ifndef NORN_CUDA_H
#define NORN_CUDA_H

#include <norn.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
#define NORN_CUDA_CAST_(type, value) static_cast<type>(value)
#else
#define NORN_CUDA_CAST_(type, value) ((type)(value))
#endif

struct CUstream_st;
struct cublasContext;
struct cusolverDnContext;

/* The stream of an enqueue body. */
static inline struct CUstream_st *norn_cuda_stream(void *stream) { return NORN_CUDA_CAST_(struct CUstream_st *, stream); }

/* Pins a task with an enqueue body, or an operation, to a stream of the application's. */
static inline void norn_cuda_pin(norn_task *task, struct CUstream_st *stream) { task->stream = stream; }

/* See norn_stream_record. */
static inline norn_status norn_cuda_stream_record(norn_runtime *rt, norn_place device, struct CUstream_st *stream,
                                                  norn_token *token) {
    return norn_stream_record(rt, device, stream, token);
}

/* See norn_stream_wait. */
static inline norn_status norn_cuda_stream_wait(norn_runtime *rt, norn_token token, norn_place device,
                                                struct CUstream_st *stream, int64_t timeout_ns) {
    return norn_stream_wait(rt, token, device, stream, timeout_ns);
}

/* Leased handles with their stream set; see norn_self_provider. */
static inline norn_status norn_cuda_cublas(norn_self *self, struct cublasContext **handle) {
    void *leased = NULL;
    norn_status status = norn_self_provider(self, NORN_PROVIDER_CUBLAS, &leased);
    if (status == NORN_OK) *handle = NORN_CUDA_CAST_(struct cublasContext *, leased);
    return status;
}
static inline norn_status norn_cuda_cusolver(norn_self *self, struct cusolverDnContext **handle) {
    void *leased = NULL;
    norn_status status = norn_self_provider(self, NORN_PROVIDER_CUSOLVER, &leased);
    if (status == NORN_OK) *handle = NORN_CUDA_CAST_(struct cusolverDnContext *, leased);
    return status;
}

/* What an enqueue body returns for a result of CUDA's: 0 for success, else the code, with `what` as the record's text. */
static inline int32_t norn_cuda_check(norn_self *self, int32_t result, const char *what) {
    return result == 0 ? 0 : norn_self_fail(self, result, what);
}

#ifdef __cplusplus
}

/* Device address of a datum as a pointer to T; NULL on an error, of which norn_last_error tells. */
template <class T> static inline T *norn_cuda_pointer(norn_runtime *rt, norn_data data) {
    void *pointer = NULL;
    return norn_data_pointer(rt, data, &pointer, NULL) == NORN_OK ? static_cast<T *>(pointer) : NULL;
}
/* A kernel's argument by value; it is copied when the kernel is launched, and must live until then. */
template <class T> static inline norn_argument norn_cuda_value(const T &value) { return norn_value(&value, sizeof(T)); }
#endif

#endif /* NORN_CUDA_H */
