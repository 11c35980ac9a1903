/*
 * Module images: PTX, with errors too, and cubins and fat binaries of the stand-in's making.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 */
#include "case.h"

#include <elf.h>

static CUresult load_with_log(const char *image, char *log, size_t bytes, size_t *written) {
    CUmodule module;
    int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)bytes};
    const CUresult result = cuModuleLoadDataEx(&module, image, 2, options, values);
    *written = (size_t)(uintptr_t)values[1];
    if (result == CUDA_SUCCESS) OK(cuModuleUnload(module));
    return result;
}

static void error_comes_with_a_log(void) {
    char log[512] = "";
    size_t written = 0;
    enter(0);
    RESULT(load_with_log("this is no PTX at all", log, sizeof log, &written), CUDA_ERROR_INVALID_PTX);
    CHECK(strstr(log, ".version") != NULL);
    CHECK(written > 0 && written <= sizeof log);
    leave(0);
}

static void entries_are_found_by_name(void) {
    enter(0);
    CUmodule module = load_kernels();
    CUfunction function;
    OK(cuModuleGetFunction(&function, module, "mix_u64"));
    RESULT(cuModuleGetFunction(&function, module, "no_such_kernel"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleUnload(module));
    leave(0);
}

static void parameters_are_told(void) {
    size_t offset = 99, bytes = 99;
    enter(0);
    CUmodule module = load_kernels();
    CUfunction function = kernel_of(module, "spin_until_u32");
    OK(cuFuncGetParamInfo(function, 0, &offset, &bytes));
    EQUAL(offset, 0);
    EQUAL(bytes, 8);
    OK(cuFuncGetParamInfo(function, 1, &offset, &bytes));
    EQUAL(offset, 8);
    EQUAL(bytes, 4);
    RESULT(cuFuncGetParamInfo(function, 2, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
    OK(cuModuleUnload(module));
    leave(0);
}

static void file_that_is_not_there(void) {
    CUmodule module;
    enter(0);
    RESULT(cuModuleLoad(&module, "/nonexistent/kernels.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
    leave(0);
}

static void globals_have_addresses(void) {
    static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                              "// a comment with .entry wrong(\n"
                              ".visible .global .align 8 .b8 table[24];\n.visible .global .align 4 .u32 single;\n"
                              ".visible .entry noop()\n{\n ret;\n}\n";
    CUmodule module;
    CUdeviceptr address;
    size_t bytes = 0;
    unsigned char host[24];
    enter(0);
    OK(cuModuleLoadData(&module, ptx));
    OK(cuModuleGetGlobal_v2(&address, &bytes, module, "table"));
    EQUAL(bytes, 24);
    OK(cuMemcpyDtoH_v2(host, address, 24));
    EQUAL(host[23], 0);
    OK(cuModuleGetGlobal_v2(&address, &bytes, module, "single"));
    EQUAL(bytes, 4);
    RESULT(cuModuleGetGlobal_v2(&address, &bytes, module, "absent"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleUnload(module));
    leave(0);
}

static void host_code_must_agree(void) {
    static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                              ".visible .entry spin_ns(.param .u32 short)\n{\n ret;\n}\n";
    char log[512] = "";
    size_t written;
    enter(0);
    RESULT(load_with_log(ptx, log, sizeof log, &written), CUDA_ERROR_INVALID_PTX);
    CHECK(strstr(log, "spin_ns") != NULL);
    leave(0);
}

/* An ELF image whose one section of code is that of noop, as a compiler names it. */
static size_t make_cubin(unsigned char *at) {
    static const char names[] = "\0.shstrtab\0.text.noop";
    Elf64_Ehdr header;
    Elf64_Shdr sections[3];
    memset(&header, 0, sizeof header);
    memset(sections, 0, sizeof sections);
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    header.e_shstrndx = 1;
    header.e_shoff = sizeof header + 64;
    sections[1].sh_name = 1;
    sections[1].sh_offset = sizeof header;
    sections[1].sh_size = sizeof names;
    sections[2].sh_name = 11;
    memcpy(at, &header, sizeof header);
    memcpy(at + sizeof header, names, sizeof names);
    memcpy(at + header.e_shoff, sections, sizeof sections);
    return header.e_shoff + sizeof sections;
}

static void launch_noop_of(const void *image) {
    CUmodule module;
    CUstream stream = new_stream();
    OK(cuModuleLoadData(&module, image));
    OK(launch(kernel_of(module, "noop"), stream, NULL));
    end_stream(stream);
    OK(cuModuleUnload(module));
}

static void cubin_names_its_kernels(void) {
    unsigned char image[1024];
    enter(0);
    make_cubin(image);
    launch_noop_of(image);
    leave(0);
}

static void fat_binary_holds_a_cubin(void) {
    _Alignas(8) unsigned char image[2048] = {0};
    const uint32_t magic = 0xba55ed50, entry_header = 16;
    const uint16_t header = 16, kind = 2;
    enter(0);
    const uint64_t bytes = make_cubin(image + 32), all = 16 + bytes;
    memcpy(image, &magic, 4);
    memcpy(image + 6, &header, 2);
    memcpy(image + 8, &all, 8);
    memcpy(image + 16, &kind, 2);
    memcpy(image + 20, &entry_header, 4);
    memcpy(image + 24, &bytes, 8);
    launch_noop_of(image);
    leave(0);
}

CASES(CASE(error_comes_with_a_log), CASE(entries_are_found_by_name), CASE(parameters_are_told), CASE(file_that_is_not_there),
      CASE(globals_have_addresses), OWN(host_code_must_agree), OWN(cubin_names_its_kernels), OWN(fat_binary_holds_a_cubin))
