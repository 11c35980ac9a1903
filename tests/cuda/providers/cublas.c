/* A cuBLAS of handles alone, for the stand-in driver: what a lease of one needs.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>

struct cublasContext {
    void *stream;
};

int cublasCreate_v2(struct cublasContext **handle);
int cublasDestroy_v2(struct cublasContext *handle);
int cublasSetStream_v2(struct cublasContext *handle, void *stream);
int cublasGetStream_v2(struct cublasContext *handle, void **stream);

int cublasCreate_v2(struct cublasContext **handle) {
    *handle = calloc(1, sizeof **handle);
    return *handle == NULL ? 3 : 0;
}
int cublasDestroy_v2(struct cublasContext *handle) {
    free(handle);
    return 0;
}
int cublasSetStream_v2(struct cublasContext *handle, void *stream) {
    handle->stream = stream;
    return 0;
}
int cublasGetStream_v2(struct cublasContext *handle, void **stream) {
    *stream = handle->stream;
    return 0;
}
