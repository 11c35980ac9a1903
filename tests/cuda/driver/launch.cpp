// Launches: arguments are copied at the call, device pointers become addresses that host code can use.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "call.hpp"

#include <algorithm>
#include <cstring>

namespace standin {

Ref<Function> function_of(Call &call, CUfunction handle); // module.cpp

namespace {

// Lives until the kernel has run.
struct Arguments {
    std::vector<uint64_t> storage; // eight bytes aligned
    std::vector<void *> pointers;
};

struct Launch {
    Ref<Function> function;
    Ref<Kernel> kernel;
    Arguments given, translated;
    standin_launch seen;
    CUresult fault = CUDA_SUCCESS; // known at the launch, met when it runs
};

struct Grid {
    unsigned grid[3], block[3], shared_bytes;
};

bool copy_arguments(const Function &function, void **arguments, void **extra, Arguments *copied) {
    size_t bytes = 0;
    for (const Parameter &parameter : function.parameters) bytes = std::max(bytes, parameter.offset + parameter.bytes);
    copied->storage.resize((bytes + 7) / 8 + 1);
    char *const base = reinterpret_cast<char *>(copied->storage.data());
    if (extra != nullptr) {
        if (arguments != nullptr) return false;
        const void *buffer = nullptr;
        size_t given = 0;
        for (size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
            if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[i + 1];
            if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) given = *static_cast<size_t *>(extra[i + 1]);
        }
        if (bytes != 0 && (buffer == nullptr || given < bytes)) return false;
        if (bytes != 0) memcpy(base, buffer, bytes);
    } else {
        if (arguments == nullptr && !function.parameters.empty()) return false;
        for (size_t i = 0; i < function.parameters.size(); ++i) {
            if (arguments[i] == nullptr) return false;
            memcpy(base + function.parameters[i].offset, arguments[i], function.parameters[i].bytes);
        }
    }
    for (const Parameter &parameter : function.parameters) copied->pointers.push_back(base + parameter.offset);
    return true;
}

// Whether kernels of a context reach an allocation.
bool reaches(const Context &context, const Allocation &allocation) {
    if (allocation.kind != Allocation::device || allocation.ordinal == context.ordinal) return true;
    if (allocation.pool != nullptr) return allocation.pool->readers.count(context.ordinal) != 0;
    return context.peers.count(allocation.context->handle) != 0;
}

struct Touched {
    Launch *launch;
    const Context *context;
    std::vector<Use> *uses;
};

void note_touch(void *to, size_t index, size_t offset, size_t bytes, int writes) {
    Touched &touched = *static_cast<Touched *>(to);
    if (bytes == 0 || index >= touched.launch->given.pointers.size()) return;
    const uint64_t begin = *static_cast<uint64_t *>(touched.launch->given.pointers[index]) + offset;
    const Ref<Allocation> found = allocation_at(begin);
    if (found == nullptr || begin + bytes > found->base + found->bytes || !reaches(*touched.context, *found)) {
        touched.launch->fault = CUDA_ERROR_ILLEGAL_ADDRESS;
        return;
    }
    Shape at;
    at.begin = begin;
    at.width = bytes;
    touched.uses->push_back({found, at, writes ? Touch::writes : Touch::reads});
}

void find_uses(Call &call, Launch &launch, std::vector<Use> *uses) {
    Touched touched{&launch, call.current.get(), uses};
    for (size_t i = 0; i < launch.function->parameters.size(); ++i) {
        if (!launch.function->parameters[i].pointer) continue;
        const uint64_t address = *static_cast<uint64_t *>(launch.given.pointers[i]);
        if (address == 0) continue;
        const Ref<Allocation> found = allocation_at(address);
        if (found == nullptr) {
            const Ref<Allocation> gone = allocation_gone_at(address);
            if (gone != nullptr)
                violation("use-after-free", call.name, "%s: argument %zu points to %s, freed by %s", launch.function->name.c_str(), i,
                          describe(*gone).c_str(), gone->freed);
            // A pointer to nothing is no error until something is touched through it.
            if (launch.kernel->touches == nullptr) launch.fault = CUDA_ERROR_ILLEGAL_ADDRESS;
            continue;
        }
        if (!reaches(*call.current, *found)) {
            if (launch.kernel->touches == nullptr) launch.fault = CUDA_ERROR_ILLEGAL_ADDRESS;
            continue;
        }
        *static_cast<uint64_t *>(launch.translated.pointers[i]) = reinterpret_cast<uint64_t>(real_address(*found, address));
        if (launch.kernel->touches != nullptr) continue;
        Shape whole;
        whole.begin = found->base;
        whole.width = found->bytes;
        uses->push_back({found, whole, Touch::unknown});
    }
    if (launch.kernel->touches != nullptr) {
        standin_launch as_given = launch.seen;
        as_given.arguments = launch.given.pointers.data();
        launch.kernel->touches(&as_given, note_touch, &touched);
    }
}

CUresult launch(Call &call, CUfunction handle, const Grid &grid, CUstream stream_handle, void **arguments, void **extra) {
    const Ref<Function> function = function_of(call, handle);
    const Ref<Stream> stream = function == nullptr ? nullptr : stream_of(call, stream_handle, For::work);
    if (stream == nullptr) return call.result;
    // Here the real driver insists on the context too.
    const Ref<Context> module_context = state().modules[function->module]->context;
    if (module_context != call.current) {
        violation("wrong-context", call.name, "%s was loaded on device %d, the current context is of device %d",
                  function->name.c_str(), module_context->ordinal, call.current->ordinal);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (stream->context != call.current) return CUDA_ERROR_INVALID_HANDLE;
    const uint64_t threads = uint64_t{grid.block[0]} * grid.block[1] * grid.block[2];
    const uint64_t blocks = uint64_t{grid.grid[0]} * grid.grid[1] * grid.grid[2];
    if (threads == 0 || threads > 1024 || grid.block[2] > 64 || blocks == 0 || grid.grid[0] > 2147483647U ||
        grid.grid[1] > 65535 || grid.grid[2] > 65535 || grid.shared_bytes > static_cast<unsigned>(function->dynamic_shared))
        return CUDA_ERROR_INVALID_VALUE;
    if (function->kernel == nullptr) {
        fprintf(stderr, "standin: no host code for kernel %s: see standin_register_kernel\n", function->name.c_str());
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    const Ref<Launch> made = std::make_shared<Launch>();
    made->function = function;
    made->kernel = function->kernel;
    if (!copy_arguments(*function, arguments, extra, &made->given)) return CUDA_ERROR_INVALID_VALUE;
    made->translated.storage = made->given.storage;
    for (const Parameter &parameter : function->parameters)
        made->translated.pointers.push_back(reinterpret_cast<char *>(made->translated.storage.data()) + parameter.offset);
    made->seen = {made->kernel->name.c_str(), {grid.grid[0], grid.grid[1], grid.grid[2]}, {grid.block[0], grid.block[1], grid.block[2]},
                  grid.shared_bytes, call.current->ordinal, made->translated.pointers.data(), made->translated.pointers.size(),
                  call.current.get()};
    std::vector<Use> uses;
    find_uses(call, *made, &uses);
    if (const CUresult planted = planted_fault(made->kernel->name.c_str()); planted != CUDA_SUCCESS) made->fault = planted;
    enqueue(call, stream, uses, [made](CUresult *error) {
        *error = made->fault;
        if (*error == CUDA_SUCCESS) {
            inside_device_code = "a kernel";
            *error = made->kernel->run(&made->seen);
            inside_device_code = nullptr;
        }
        return Outcome::finished;
    });
    return CUDA_SUCCESS;
}

} // namespace

} // namespace standin

using namespace standin;

extern "C" CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                   unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **arguments,
                                   void **extra) {
    ENTER(Call::context);
    return launch(call, function, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}, stream, arguments, extra);
}

// Attributes ask for what the stand-in has no use for.
extern "C" CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments, void **extra) {
    ENTER(Call::context);
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Grid grid = {{config->gridDimX, config->gridDimY, config->gridDimZ},
                       {config->blockDimX, config->blockDimY, config->blockDimZ},
                       config->sharedMemBytes};
    return launch(call, function, grid, config->hStream, arguments, extra);
}

extern "C" CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                              CUstream stream, void **arguments) {
    ENTER(Call::context);
    return launch(call, function, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}, stream, arguments, nullptr);
}

extern "C" CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int block, size_t) {
    ENTER(Call::context);
    if (function_of(call, function) == nullptr) return call.result;
    if (blocks == nullptr || block < 1 || block > 1024) return CUDA_ERROR_INVALID_VALUE;
    *blocks = std::max(1, 2048 / block);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function, CUoccupancyB2DSize, size_t, int limit) {
    ENTER(Call::context);
    if (function_of(call, function) == nullptr) return call.result;
    if (grid == nullptr || block == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *block = limit > 0 ? std::min(limit, 1024) : 1024;
    *grid = 8;
    return CUDA_SUCCESS;
}
