// Names and texts of errors, versions, and symbols by name.
//
// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "call.hpp"

#include <dlfcn.h>

namespace standin {

namespace {

struct Known {
    CUresult code;
    const char *name, *text;
};
#define KNOWN(error, text) {error, #error, text}
const Known all[] = {
    KNOWN(CUDA_SUCCESS, "no error"),
    KNOWN(CUDA_ERROR_INVALID_VALUE, "a value is not valid"),
    KNOWN(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    KNOWN(CUDA_ERROR_NOT_INITIALIZED, "cuInit was not called in this process"),
    KNOWN(CUDA_ERROR_DEINITIALIZED, "the driver is ending"),
    KNOWN(CUDA_ERROR_NO_DEVICE, "no device"),
    KNOWN(CUDA_ERROR_INVALID_DEVICE, "no device has this number"),
    KNOWN(CUDA_ERROR_INVALID_IMAGE, "the image of a module is not valid"),
    KNOWN(CUDA_ERROR_INVALID_CONTEXT, "no context, or not a valid one"),
    KNOWN(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image for this device"),
    KNOWN(CUDA_ERROR_ECC_UNCORRECTABLE, "a memory error that could not be corrected"),
    KNOWN(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "the two devices cannot access each other"),
    KNOWN(CUDA_ERROR_INVALID_PTX, "PTX does not compile"),
    KNOWN(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
    KNOWN(CUDA_ERROR_OPERATING_SYSTEM, "a call of the operating system failed"),
    KNOWN(CUDA_ERROR_INVALID_HANDLE, "a handle is not valid"),
    KNOWN(CUDA_ERROR_NOT_FOUND, "nothing has this name"),
    KNOWN(CUDA_ERROR_NOT_READY, "not complete yet"),
    KNOWN(CUDA_ERROR_ILLEGAL_ADDRESS, "a kernel touched an illegal address"),
    KNOWN(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "a launch asks for more than there is"),
    KNOWN(CUDA_ERROR_LAUNCH_TIMEOUT, "a kernel ran too long"),
    KNOWN(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is enabled already"),
    KNOWN(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access is not enabled"),
    KNOWN(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "the primary context is active"),
    KNOWN(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context was destroyed"),
    KNOWN(CUDA_ERROR_ASSERT, "an assertion failed in a kernel"),
    KNOWN(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "the memory is registered already"),
    KNOWN(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "the memory is not registered"),
    KNOWN(CUDA_ERROR_HARDWARE_STACK_ERROR, "a kernel's stack is damaged"),
    KNOWN(CUDA_ERROR_ILLEGAL_INSTRUCTION, "a kernel met an illegal instruction"),
    KNOWN(CUDA_ERROR_MISALIGNED_ADDRESS, "a kernel used an address that is not aligned"),
    KNOWN(CUDA_ERROR_INVALID_ADDRESS_SPACE, "a kernel used an address of the wrong space"),
    KNOWN(CUDA_ERROR_INVALID_PC, "a kernel jumped to nowhere"),
    KNOWN(CUDA_ERROR_LAUNCH_FAILED, "a kernel failed"),
    KNOWN(CUDA_ERROR_NOT_PERMITTED, "not permitted here"),
    KNOWN(CUDA_ERROR_NOT_SUPPORTED, "not supported"),
    KNOWN(CUDA_ERROR_UNKNOWN, "unknown error"),
};

const Known *known(CUresult code) {
    for (const Known &error : all)
        if (error.code == code) return &error;
    return nullptr;
}

// The address that `symbol` had in the interface of that version: the newest suffix that is old enough.
void *find_symbol(const std::string &symbol, int version) {
    struct Since {
        const char *name;
        int version;
    };
    static const Since newer[] = {
        {"cuGetProcAddress_v2", 12000}, {"cuEventElapsedTime_v2", 12080}, {"cuStreamWriteValue32_v2", 11070},
        {"cuStreamWaitValue32_v2", 11070}, {"cuStreamWriteValue64_v2", 11070}, {"cuStreamWaitValue64_v2", 11070}};
    const std::string second = symbol + "_v2";
    int since = 3020;
    for (const Since &entry : newer)
        if (second == entry.name) since = entry.version;
    void *found = nullptr;
    // Itself, wherever it was loaded from.
    Dl_info self;
    if (dladdr(reinterpret_cast<void *>(&cuInit), &self) == 0) return nullptr;
    void *library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return nullptr;
    if (version >= since) found = dlsym(library, second.c_str());
    if (found == nullptr) found = dlsym(library, symbol.c_str());
    dlclose(library);
    return found;
}

} // namespace

const char *error_name(CUresult error) {
    const Known *found = known(error);
    return found == nullptr ? "an unknown error" : found->name;
}

} // namespace standin

using namespace standin;

// These need no context, take no lock and may be called from anywhere.
extern "C" CUresult cuGetErrorName(CUresult error, const char **name) {
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Known *found = known(error);
    *name = found == nullptr ? nullptr : found->name;
    return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

extern "C" CUresult cuGetErrorString(CUresult error, const char **text) {
    if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Known *found = known(error);
    *text = found == nullptr ? nullptr : found->text;
    return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

extern "C" CUresult cuDriverGetVersion(int *version) {
    Call call(__func__, Call::nothing);
    if (call.failed()) return call.result;
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *version = settings().version;
    return CUDA_SUCCESS;
}

extern "C" CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t, int *status) {
    if (symbol == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *function = find_symbol(symbol, version);
    const bool found = *function != nullptr;
    if (status != nullptr) *status = found ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

extern "C" CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags) {
    return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

// The private tables that the runtime library asks for.
extern "C" CUresult cuGetExportTable(const void **table, const CUuuid *) {
    if (table == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *table = nullptr;
    return CUDA_ERROR_NOT_SUPPORTED;
}
