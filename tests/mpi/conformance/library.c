/*
 * What the library says of itself and of its errors, and memory for messages.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static void describes_itself(void) {
    char text[256] = "";
    int32_t now = -1, level = -1, main_thread = -1, r = -1, s = -1;
    MUST(mpi->version == NORN_MPI_TABLE_VERSION, "version %u", mpi->version);
    MUST(mpi->struct_size == sizeof *mpi, "%u bytes", mpi->struct_size);
    MUST(mpi->family[0] != 0 && mpi->built_for[0] != 0, "empty");
    OK(mpi->state(&now));
    MUST(now == NORN_MPI_ACTIVE, "state %d", (int)now);
    OK(mpi->library_text(text, sizeof text));
    MUST(strlen(text) > 3 && strchr(text, '\n') == NULL, "text \"%s\"", text);
    OK(mpi->thread(comm, &level, &main_thread));
    MUST(level >= NORN_MPI_THREAD_SINGLE && level <= NORN_MPI_THREAD_MULTIPLE, "level %d", (int)level);
    MUST(main_thread == 1, "main %d", (int)main_thread);
    OK(mpi->world(comm, &r, &s));
    MUST(r == rank && s == size, "rank %d of %d", (int)r, (int)s);
}

static void texts_are_cut_to_size(void) {
    char text[8] = "xxxxxxx";
    OK(mpi->library_text(text, 4));
    MUST(strlen(text) == 3 && text[4] == 'x', "text \"%s\"", text);
    OK(mpi->error_text(NORN_MPI_INVALID, text, 5));
    MUST(strlen(text) == 4, "text \"%s\"", text);
    text[0] = 'x';
    OK(mpi->error_text(NORN_MPI_INVALID, text, 0));
    MUST(text[0] == 'x', "written");
}

static void errors_have_texts(void) {
    char text[512];
    for (int32_t code = NORN_MPI_BUSY; code <= 0; code++) {
        text[0] = 0;
        OK(mpi->error_text(code, text, sizeof text));
        MUST(text[0] != 0, "code %d", (int)code);
    }
    OK(mpi->error_text(INT32_MAX, text, sizeof text));
    MUST(text[0] != 0, "empty");
    OK(mpi->error_text(-77, text, sizeof text));
    MUST(text[0] != 0, "empty");
}

static void says_whether_device_aware(void) {
    char reason[256] = "";
    int32_t answer = -7;
    OK(mpi->device_aware(&answer, reason, sizeof reason));
    MUST(answer >= -1 && answer <= 1, "answer %d", (int)answer);
    MUST(strlen(reason) > 5, "reason \"%s\"", reason);
}

static void memory_for_messages(void) {
    void *memory = &memory;
    OK(mpi->alloc(0, &memory));
    MUST(memory == NULL, "not NULL");
    OK(mpi->free(NULL));
    OK(mpi->alloc(100000, &memory));
    MUST(memory != NULL, "NULL");
    memset(memory, 1, 100000);
    OK(mpi->free(memory));
    memory = &memory;
    int32_t code = mpi->alloc(UINT64_MAX, &memory);
    MUST(code != 0 && memory == &memory, "code %d", (int)code);
}

const struct check library_checks[] = {
    CHECK(describes_itself, ALWAYS),
    CHECK(texts_are_cut_to_size, ALWAYS),
    CHECK(errors_have_texts, ALWAYS),
    CHECK(says_whether_device_aware, ALWAYS),
    CHECK(memory_for_messages, ALWAYS),
    {NULL, NULL, ALWAYS},
};
