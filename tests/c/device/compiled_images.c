/* Kernels from a cubin and from a fatbin, each as bytes in memory; options are for source, and are refused.
 * On a real driver the cubin is what its linker makes of PTX.
 * SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "device/raw.h"
#include "device/standin.h"

#include <elf.h>

enum { MOST = 1 << 20 };
static _Alignas(8) unsigned char cubin[MOST], fatbin[MOST + 64];
static const char source_of_noop[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry noop()\n{\n ret;\n}\n";

/* An ELF image whose one section of code is that of noop, as a compiler names it. */
static size_t make_cubin(void) {
    static const char names[] = "\0.shstrtab\0.text.noop";
    Elf64_Ehdr header;
    Elf64_Shdr sections[3];
    memset(&header, 0, sizeof header);
    memset(sections, 0, sizeof sections);
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = COUNT_OF(sections);
    header.e_shstrndx = 1;
    header.e_shoff = sizeof header + 64;
    sections[1].sh_name = 1;
    sections[1].sh_offset = sizeof header;
    sections[1].sh_size = sizeof names;
    sections[2].sh_name = 11;
    memcpy(cubin, &header, sizeof header);
    memcpy(cubin + sizeof header, names, sizeof names);
    memcpy(cubin + header.e_shoff, sections, sizeof sections);
    return header.e_shoff + sizeof sections;
}

static size_t link_cubin(void) {
    enum { PTX = 1 };
    void *linker, *linked;
    size_t bytes;
    raw_context();
    RAW("cuLinkCreate_v2", (unsigned, int *, void **, void **), (0, NULL, NULL, &linker));
    RAW("cuLinkAddData_v2", (void *, int, const void *, size_t, const char *, unsigned, int *, void **),
        (linker, PTX, source_of_noop, sizeof source_of_noop, "noop.ptx", 0, NULL, NULL));
    RAW("cuLinkComplete", (void *, void **, size_t *), (linker, &linked, &bytes));
    CHECK(bytes <= MOST);
    memcpy(cubin, linked, bytes);
    RAW("cuLinkDestroy", (void *), (linker));
    raw_context_release();
    return bytes;
}

/* A container with one entry, which is a cubin; only as much of it as the stand-in reads. */
static size_t make_fatbin(size_t bytes) {
    const uint32_t magic = 0xba55ed50, entry_header = 16;
    const uint16_t header = 16, kind = 2;
    const uint64_t entry = bytes, all = entry_header + bytes;
    memcpy(fatbin, &magic, 4);
    memcpy(fatbin + 6, &header, 2);
    memcpy(fatbin + 8, &all, 8);
    memcpy(fatbin + 16, &kind, 2);
    memcpy(fatbin + 20, &entry_header, 4);
    memcpy(fatbin + 24, &entry, 8);
    memcpy(fatbin + 32, cubin, bytes);
    return 32 + bytes;
}

static void launch_noop_of(device *d, const void *image, size_t bytes) {
    norn_kernel kernel;
    norn_module none;
    CHECK_STATUS(norn_module_load(d->rt, d->place, image, bytes, "--use_fast_math", &none), NORN_E_INVALID);
    CHECK_SAYS("compiled already");
    CHECK_OK(norn_module_load(d->rt, d->place, image, bytes, NULL, &d->module));
    CHECK_STATUS(norn_kernel_get(d->rt, d->module, "no_such_kernel", &kernel), NORN_E_INVALID);
    CHECK_OK(norn_kernel_get(d->rt, d->module, "noop", &kernel));
    CHECK_OK(norn_await(d->rt, device_launch(d, kernel, NULL, 0, NULL), FOREVER));
}

int main(void) {
    device d = device_open_with(NULL);
    const size_t bytes = standin_is_here() ? make_cubin() : link_cubin();
    launch_noop_of(&d, cubin, bytes);
    if (standin_is_here()) launch_noop_of(&d, fatbin, make_fatbin(bytes));
    CHECK_OK(norn_close(d.rt));
    check_nothing_left();
    return 0;
}
