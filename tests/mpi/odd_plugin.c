/* Plug-ins that norn must refuse: VERSION and FAMILY say how. No call of theirs is ever made. */
#include <norn_mpi_plugin.h>
#include <string.h>

const norn_mpi_table *norn_mpi_plugin(void);

static void never(void) {}

const norn_mpi_table *norn_mpi_plugin(void) {
    static uintptr_t words[sizeof(norn_mpi_table) / sizeof(uintptr_t)];
    uint32_t begin[2] = {VERSION, sizeof(norn_mpi_table)};
    for (size_t i = 1; i < sizeof words / sizeof *words; i++) words[i] = (uintptr_t)never;
    memcpy(words, begin, sizeof begin);
    words[1] = (uintptr_t)FAMILY;
    words[2] = (uintptr_t) "nothing";
    return (const norn_mpi_table *)words;
}
