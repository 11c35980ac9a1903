// Fills of device memory with an element of 8, 16 or 32 bits. None waits, as the real driver's do not.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "call.hpp"

#include <algorithm>

namespace standin {

template <class Element>
static CUresult fill(Call &call, CUdeviceptr to, size_t pitch, Element value, size_t width, size_t height, CUstream handle) {
    const Ref<Stream> stream = stream_of(call, handle, For::work);
    if (stream == nullptr) return call.result;
    Shape at;
    at.begin = to;
    at.width = width * sizeof(Element);
    at.rows = height;
    at.pitch = pitch;
    if (to % sizeof(Element) != 0 || (height > 1 && (pitch < at.width || pitch % sizeof(Element) != 0)))
        return CUDA_ERROR_INVALID_VALUE;
    Use use;
    char *real = nullptr;
    if (const CUresult bad = find_range(call, Side::device, at, Touch::writes, &use, &real); bad != CUDA_SUCCESS) return bad;
    enqueue(call, stream, {use}, [=](CUresult *) {
        for (size_t row = 0; row < height; ++row) std::fill_n(reinterpret_cast<Element *>(real + row * pitch), width, value);
        return Outcome::finished;
    });
    return CUDA_SUCCESS;
}

} // namespace standin

using namespace standin;

extern "C" CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
    ENTER(Call::context);
    return fill(call, to, 0, value, count, 1, nullptr);
}
extern "C" CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
    ENTER(Call::context);
    return fill(call, to, 0, value, count, 1, nullptr);
}
extern "C" CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
    ENTER(Call::context);
    return fill(call, to, 0, value, count, 1, nullptr);
}
extern "C" CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
    ENTER(Call::context);
    return fill(call, to, 0, value, count, 1, stream);
}
extern "C" CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
    ENTER(Call::context);
    return fill(call, to, 0, value, count, 1, stream);
}
extern "C" CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
    ENTER(Call::context);
    return fill(call, to, 0, value, count, 1, stream);
}
extern "C" CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height) {
    ENTER(Call::context);
    return fill(call, to, pitch, value, width, height, nullptr);
}
extern "C" CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height) {
    ENTER(Call::context);
    return fill(call, to, pitch, value, width, height, nullptr);
}
extern "C" CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height) {
    ENTER(Call::context);
    return fill(call, to, pitch, value, width, height, nullptr);
}
extern "C" CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream) {
    ENTER(Call::context);
    return fill(call, to, pitch, value, width, height, stream);
}
extern "C" CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream) {
    ENTER(Call::context);
    return fill(call, to, pitch, value, width, height, stream);
}
extern "C" CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream) {
    ENTER(Call::context);
    return fill(call, to, pitch, value, width, height, stream);
}
