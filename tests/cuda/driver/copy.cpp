// Copies between host, devices and peers, in one, two and three dimensions.
//
// Pageable host memory: by the documentation a copy from it has taken the bytes when the call returns, and a copy to it
// is complete then; the call may wait for the stream. So it does here, unless STANDIN_PAGEABLE=asynchronous asks
// for what programs should not rely on not happening.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "call.hpp"

#include <cerrno>
#include <cstring>
#include <sched.h>
#include <sys/uio.h>
#include <unistd.h>

namespace standin {

namespace {

struct End {
    char *real = nullptr;
    bool pageable = false;
    Shape at;
};

// Pageable memory may be gone by the time of the copy. The kernel's copy tells so where memcpy would end the process;
// under ThreadSanitizer memcpy is used all the same, for its sake.
bool move(char *to, bool to_pageable, const char *from, bool from_pageable, size_t bytes) {
#ifndef __SANITIZE_THREAD__
    if (to_pageable || from_pageable) {
        iovec mine = {to_pageable ? const_cast<char *>(from) : to, bytes};
        iovec theirs = {to_pageable ? to : const_cast<char *>(from), bytes};
        const ssize_t moved = to_pageable ? process_vm_writev(getpid(), &mine, 1, &theirs, 1, 0)
                                          : process_vm_readv(getpid(), &mine, 1, &theirs, 1, 0);
        if (moved == static_cast<ssize_t>(bytes)) return true;
        if (moved >= 0 || errno == EFAULT) return false;
        // Not permitted here.
    }
#else
    (void)to_pageable;
    (void)from_pageable;
#endif
    memmove(to, from, bytes);
    return true;
}

// `locked`: by the caller, who must not be nudged.
bool move_all(const End &to, const End &from, bool locked) {
    const Shape &t = to.at, &f = from.at;
    if (t.width == 0 || t.rows == 0 || t.slices == 0) return true;
    if (t.rows == 1 && t.slices == 1 && t.width >= 4096 && !locked && nudge()) {
        // In two steps, so that what should not overlap with this copy can.
        const size_t half = t.width / 2;
        if (!move(to.real, to.pageable, from.real, from.pageable, half)) return false;
        sched_yield();
        return move(to.real + half, to.pageable, from.real + half, from.pageable, t.width - half);
    }
    for (uint64_t slice = 0; slice < t.slices; ++slice)
        for (uint64_t row = 0; row < t.rows; ++row)
            if (!move(to.real + slice * t.slice + row * t.pitch, to.pageable, from.real + slice * f.slice + row * f.pitch,
                      from.pageable, t.width))
                return false;
    return true;
}

struct Request {
    Side to_side, from_side;
    Shape to, from;
    bool synchronous;
};

// Whether the host may go on at once after a synchronous copy: the driver does not wait where no host memory is.
bool on_devices(const Use &use) { return use.in != nullptr && use.in->kind == Allocation::device; }

CUresult copy(Call &call, CUstream handle, const Request &request) {
    const Ref<Stream> stream = stream_of(call, handle, For::work);
    if (stream == nullptr) return call.result;
    Use to_use, from_use;
    End to, from;
    CUresult bad = find_range(call, request.to_side, request.to, Touch::writes, &to_use, &to.real);
    if (bad == CUDA_SUCCESS) bad = find_range(call, request.from_side, request.from, Touch::reads, &from_use, &from.real);
    if (bad != CUDA_SUCCESS) return bad;
    to.pageable = to_use.in == nullptr;
    from.pageable = from_use.in == nullptr;
    to.at = request.to;
    from.at = request.from;
    if (to_use.in != nullptr && to_use.in == from_use.in && overlap(request.to, request.from) && request.to.width != 0)
        violation("race", call.name, "source and target overlap");

    const bool documented = settings().pageable == Pageable::documented;
    const bool empty = to_use.at.width == 0;
    Ref<std::vector<char>> staged;
    std::vector<Use> uses = {to_use, from_use};
    if (from.pageable && documented && !empty && !request.synchronous) {
        if (random_number() % 4 == 0) wait_for_stream(call, stream);
        if (call.failed()) return call.result;
        const Shape &f = request.from;
        staged = std::make_shared<std::vector<char>>(f.width * f.rows * f.slices);
        End stage{staged->data(), false, {}};
        stage.at.begin = reinterpret_cast<uint64_t>(stage.real);
        stage.at.width = f.width;
        stage.at.rows = f.rows;
        stage.at.slices = f.slices;
        stage.at.pitch = f.width;
        stage.at.slice = f.width * f.rows;
        if (!move_all(stage, from, true)) {
            violation("host-memory-gone", call.name, "the source at 0x%llx is not mapped", as_printed(f.begin));
            return CUDA_ERROR_INVALID_VALUE;
        }
        from = stage;
        uses.pop_back();
    }
    const char *const name = call.name;
    const Ref<Operation> operation = enqueue(call, stream, uses, [to, from, staged, name](CUresult *error) {
        if (!move_all(to, from, false)) {
            const std::lock_guard<std::mutex> lock(state().lock);
            violation("host-memory-gone", name, "host memory was unmapped while the copy was queued");
            *error = CUDA_ERROR_ILLEGAL_ADDRESS;
        }
        return Outcome::finished;
    });
    const bool waits = request.synchronous ? !(on_devices(to_use) && on_devices(from_use)) : to.pageable && documented && !empty;
    if (waits) wait_for(call, operation);
    return call.result;
}

Shape line(uint64_t begin, uint64_t bytes) {
    Shape shape;
    shape.begin = begin;
    shape.width = bytes;
    return shape;
}

uint64_t address_of(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }

// One end of a copy in planes, whose address is of the kind its memory type says.
bool plane(int type, const void *host, CUdeviceptr device, size_t x, size_t y, size_t z, size_t pitch, size_t height,
           size_t width, size_t rows, size_t depth, Side *side, Shape *shape) {
    uint64_t base = device;
    switch (type) {
    case CU_MEMORYTYPE_HOST:
        *side = Side::host;
        base = address_of(host);
        break;
    case CU_MEMORYTYPE_DEVICE: *side = Side::device; break;
    case CU_MEMORYTYPE_UNIFIED: *side = Side::either; break;
    default: return false; // arrays
    }
    if (pitch == 0) pitch = width;
    if (height == 0) height = rows;
    if ((rows > 1 && pitch < width + x) || (depth > 1 && height < rows)) return false;
    shape->begin = base + x + (y + z * height) * pitch;
    shape->width = width;
    shape->pitch = pitch;
    shape->rows = rows;
    shape->slice = pitch * height;
    shape->slices = depth;
    return true;
}

template <class Copy>
CUresult copy_planes(Call &call, const Copy *c, size_t src_z, size_t src_height, size_t dst_z, size_t dst_height, size_t depth,
                     CUstream stream, bool synchronous) {
    Request request{};
    request.synchronous = synchronous;
    if (!plane(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcXInBytes, c->srcY, src_z, c->srcPitch, src_height,
               c->WidthInBytes, c->Height, depth, &request.from_side, &request.from) ||
        !plane(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes, c->dstY, dst_z, c->dstPitch, dst_height,
               c->WidthInBytes, c->Height, depth, &request.to_side, &request.to))
        return CUDA_ERROR_INVALID_VALUE;
    return copy(call, stream, request);
}

} // namespace

} // namespace standin

using namespace standin;

extern "C" CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    ENTER(Call::context);
    return copy(call, nullptr, {Side::either, Side::either, line(to, bytes), line(from, bytes), true});
}
extern "C" CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    ENTER(Call::context);
    return copy(call, stream, {Side::either, Side::either, line(to, bytes), line(from, bytes), false});
}
extern "C" CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
    ENTER(Call::context);
    return copy(call, nullptr, {Side::device, Side::host, line(to, bytes), line(address_of(from), bytes), true});
}
extern "C" CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    ENTER(Call::context);
    return copy(call, stream, {Side::device, Side::host, line(to, bytes), line(address_of(from), bytes), false});
}
extern "C" CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
    ENTER(Call::context);
    return copy(call, nullptr, {Side::host, Side::device, line(address_of(to), bytes), line(from, bytes), true});
}
extern "C" CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    ENTER(Call::context);
    return copy(call, stream, {Side::host, Side::device, line(address_of(to), bytes), line(from, bytes), false});
}
extern "C" CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    ENTER(Call::context);
    return copy(call, nullptr, {Side::device, Side::device, line(to, bytes), line(from, bytes), true});
}
extern "C" CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    ENTER(Call::context);
    return copy(call, stream, {Side::device, Side::device, line(to, bytes), line(from, bytes), false});
}

// The contexts only tell where the addresses are, which the addresses do too.
extern "C" CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext at, CUdeviceptr from, CUcontext peer, size_t bytes, CUstream stream) {
    ENTER(Call::context);
    if (context_of(call, at) == nullptr || context_of(call, peer) == nullptr) return call.result;
    return copy(call, stream, {Side::device, Side::device, line(to, bytes), line(from, bytes), false});
}
extern "C" CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext at, CUdeviceptr from, CUcontext peer, size_t bytes) {
    ENTER(Call::context);
    if (context_of(call, at) == nullptr || context_of(call, peer) == nullptr) return call.result;
    return copy(call, nullptr, {Side::device, Side::device, line(to, bytes), line(from, bytes), true});
}

extern "C" CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *c) {
    ENTER(Call::context);
    return c == nullptr ? CUDA_ERROR_INVALID_VALUE : copy_planes(call, c, 0, 0, 0, 0, 1, nullptr, true);
}
extern "C" CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *c) {
    ENTER(Call::context);
    return c == nullptr ? CUDA_ERROR_INVALID_VALUE : copy_planes(call, c, 0, 0, 0, 0, 1, nullptr, true);
}
extern "C" CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream stream) {
    ENTER(Call::context);
    return c == nullptr ? CUDA_ERROR_INVALID_VALUE : copy_planes(call, c, 0, 0, 0, 0, 1, stream, false);
}
extern "C" CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *c) {
    ENTER(Call::context);
    if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return copy_planes(call, c, c->srcZ, c->srcHeight, c->dstZ, c->dstHeight, c->Depth, nullptr, true);
}
extern "C" CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *c, CUstream stream) {
    ENTER(Call::context);
    if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return copy_planes(call, c, c->srcZ, c->srcHeight, c->dstZ, c->dstHeight, c->Depth, stream, false);
}
extern "C" CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *c) {
    ENTER(Call::context);
    if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return copy_planes(call, c, c->srcZ, c->srcHeight, c->dstZ, c->dstHeight, c->Depth, nullptr, true);
}
extern "C" CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *c, CUstream stream) {
    ENTER(Call::context);
    if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return copy_planes(call, c, c->srcZ, c->srcHeight, c->dstZ, c->dstHeight, c->Depth, stream, false);
}
