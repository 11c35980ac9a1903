// Modules: what they declare, and the kernels in them.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "call.hpp"
#include "image.hpp"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

namespace standin {

Ref<Kernel> kernel_named(const std::string &name); // kernels.cpp

Ref<Function> function_of(Call &call, CUfunction handle) {
    const auto found = state().functions.find(reinterpret_cast<uint64_t>(handle));
    if (found != state().functions.end()) return found->second;
    if (was_handle(Handle::function, reinterpret_cast<uint64_t>(handle)))
        violation("use-after-destroy", call.name, "the function's module was unloaded");
    call.fail(CUDA_ERROR_INVALID_HANDLE);
    return nullptr;
}

namespace {

size_t letter_bytes(char letter) { return letter == 'i' || letter == 'f' ? 4 : 8; }

// The layout as the image declares it, with what the host code says of each parameter; the two must agree.
bool lay_out(const Entry &entry, Function &function) {
    const std::string letters = function.kernel != nullptr ? function.kernel->parameters : std::string();
    if (entry.parameters_known && function.kernel != nullptr && letters.size() != entry.parameter_bytes.size()) return false;
    const size_t count = entry.parameters_known ? entry.parameter_bytes.size() : letters.size();
    size_t offset = 0;
    for (size_t i = 0; i < count; ++i) {
        const size_t bytes = entry.parameters_known ? entry.parameter_bytes[i] : letter_bytes(letters[i]);
        if (function.kernel != nullptr && bytes != letter_bytes(letters[i])) return false;
        const size_t aligned = bytes >= 8 ? 8 : bytes == 0 ? 1 : bytes;
        offset = (offset + aligned - 1) / aligned * aligned;
        function.parameters.push_back({offset, bytes, function.kernel != nullptr && letters[i] == 'p'});
        offset += bytes;
    }
    return true;
}

CUresult load(Call &call, CUmodule *module, const void *image, std::string *log) {
    State &s = state();
    if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Image read;
    bool malformed = false;
    *log = read_image(image, &read, &malformed);
    if (!log->empty()) return malformed ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_INVALID_IMAGE;
    const Ref<Module> made = std::make_shared<Module>();
    made->handle = new_handle(Handle::module);
    made->context = call.current;
    for (const Entry &entry : read.entries) {
        const Ref<Function> function = std::make_shared<Function>();
        function->handle = new_handle(Handle::function);
        function->name = entry.name;
        function->module = made->handle;
        function->kernel = kernel_named(entry.name);
        if (!lay_out(entry, *function)) {
            *log = "error   : the image and the stand-in's host code disagree on the parameters of " + entry.name;
            return CUDA_ERROR_INVALID_PTX;
        }
        made->functions[entry.name] = function;
    }
    Device &device = *s.devices[static_cast<size_t>(call.current->ordinal)];
    for (const Variable &variable : read.variables) {
        const uint64_t bytes = std::max<uint64_t>(variable.bytes, 1);
        const uint64_t base = window_allocate(device, bytes);
        if (base == 0) return CUDA_ERROR_OUT_OF_MEMORY;
        device.used += bytes;
        // Without a context: it goes with the module and is no leak of its own.
        const Ref<Allocation> global =
            add_allocation({Allocation::device, base, bytes, 0, 0, nullptr, device.ordinal, nullptr, call.name, nullptr, {}});
        memset(real_address(*global, base), 0, bytes);
        global->context = call.current;
        made->globals[variable.name] = global;
    }
    for (const auto &[name, function] : made->functions) s.functions[function->handle] = function;
    s.modules[made->handle] = made;
    *module = reinterpret_cast<CUmodule>(made->handle);
    return CUDA_SUCCESS;
}

Ref<Module> module_of(Call &call, CUmodule handle) {
    const auto found = state().modules.find(reinterpret_cast<uint64_t>(handle));
    if (found != state().modules.end()) {
        if (found->second->context != call.current)
            violation("wrong-context", call.name, "a module of device %d, while the current context is of device %d",
                      found->second->context->ordinal, call.current->ordinal);
        return found->second;
    }
    if (was_handle(Handle::module, reinterpret_cast<uint64_t>(handle)))
        violation("use-after-destroy", call.name, "the module was unloaded");
    call.fail(CUDA_ERROR_INVALID_HANDLE);
    return nullptr;
}

} // namespace

} // namespace standin

using namespace standin;

extern "C" CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, int *options, void **values) {
    ENTER(Call::context);
    std::string log;
    const CUresult result = load(call, module, image, &log);
    // Sizes are passed as the values themselves, and what was written comes back the same way.
    char *buffer = nullptr;
    for (unsigned i = 0; i < count; ++i) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER) buffer = static_cast<char *>(values[i]);
    }
    for (unsigned i = 0; i < count; ++i) {
        if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES) values[i] = nullptr;
        if (options[i] != CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) continue;
        const size_t room = static_cast<unsigned>(reinterpret_cast<uintptr_t>(values[i]));
        size_t written = 0;
        if (buffer != nullptr && room != 0) {
            snprintf(buffer, room, "%s", log.c_str());
            written = log.empty() ? 0 : strlen(buffer) + 1;
        }
        values[i] = reinterpret_cast<void *>(written);
    }
    return result;
}

extern "C" CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    ENTER(Call::context);
    std::string log;
    return load(call, module, image, &log);
}

extern "C" CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image) {
    ENTER(Call::context);
    std::string log;
    return load(call, module, image, &log);
}

extern "C" CUresult cuModuleLoad(CUmodule *module, const char *path) {
    ENTER(Call::context);
    if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::ifstream file(path, std::ios::binary);
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    std::ostringstream text;
    text << file.rdbuf();
    std::string log;
    const std::string image = text.str();
    return load(call, module, image.c_str(), &log);
}

extern "C" CUresult cuModuleUnload(CUmodule handle) {
    ENTER(Call::context | Call::poisoned_too);
    const Ref<Module> module = module_of(call, handle);
    if (module == nullptr) return call.result;
    State &s = state();
    for (const auto &[name, function] : module->functions) s.functions.erase(function->handle);
    for (const auto &[name, global] : module->globals) {
        if (module->context->error == CUDA_SUCCESS) expect_seen(*global, "memory-in-use", call.name);
        remove_allocation(global, call.name);
        if (module->context->error == CUDA_SUCCESS) release_allocation(global);
    }
    s.modules.erase(module->handle);
    return module->context->error;
}

extern "C" CUresult cuModuleGetFunction(CUfunction *function, CUmodule handle, const char *name) {
    ENTER(Call::context);
    const Ref<Module> module = module_of(call, handle);
    if (module == nullptr) return call.result;
    if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto found = module->functions.find(name);
    if (found == module->functions.end()) return CUDA_ERROR_NOT_FOUND;
    *function = reinterpret_cast<CUfunction>(found->second->handle);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule handle, const char *name) {
    ENTER(Call::context);
    const Ref<Module> module = module_of(call, handle);
    if (module == nullptr) return call.result;
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto found = module->globals.find(name);
    if (found == module->globals.end()) return CUDA_ERROR_NOT_FOUND;
    if (address != nullptr) *address = found->second->base;
    if (bytes != nullptr) *bytes = found->second->bytes;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuModuleGetLoadingMode(int *mode) {
    ENTER(Call::initialised);
    if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *mode = 2; // lazy
    return CUDA_SUCCESS;
}

extern "C" CUresult cuFuncGetModule(CUmodule *module, CUfunction function) {
    ENTER(Call::context);
    const Ref<Function> found = function_of(call, function);
    if (found == nullptr) return call.result;
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *module = reinterpret_cast<CUmodule>(found->module);
    return CUDA_SUCCESS;
}

extern "C" CUresult cuFuncGetName(const char **name, CUfunction function) {
    ENTER(Call::context);
    const Ref<Function> found = function_of(call, function);
    if (found == nullptr) return call.result;
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *name = found->name.c_str();
    return CUDA_SUCCESS;
}

extern "C" CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *bytes) {
    ENTER(Call::context);
    const Ref<Function> found = function_of(call, function);
    if (found == nullptr) return call.result;
    if (offset == nullptr || index >= found->parameters.size()) return CUDA_ERROR_INVALID_VALUE;
    *offset = found->parameters[index].offset;
    if (bytes != nullptr) *bytes = found->parameters[index].bytes;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function) {
    ENTER(Call::context);
    const Ref<Function> found = function_of(call, function);
    if (found == nullptr) return call.result;
    if (value == nullptr || attribute < 0 || attribute > 15) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 32; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = found->dynamic_shared; break;
    default: *value = 0;
    }
    return CUDA_SUCCESS;
}

extern "C" CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
    ENTER(Call::context);
    const Ref<Function> found = function_of(call, function);
    if (found == nullptr) return call.result;
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && attribute != 9) return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        if (value < 0 || value > 232448) return CUDA_ERROR_INVALID_VALUE;
        found->dynamic_shared = value;
    }
    return CUDA_SUCCESS;
}

extern "C" CUresult cuFuncSetCacheConfig(CUfunction function, int) {
    ENTER(Call::context);
    return function_of(call, function) == nullptr ? call.result : CUDA_SUCCESS;
}

extern "C" CUresult cuFuncLoad(CUfunction function) {
    ENTER(Call::context);
    return function_of(call, function) == nullptr ? call.result : CUDA_SUCCESS;
}
