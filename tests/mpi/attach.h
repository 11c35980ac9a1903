/* What the programs about attaching share: one outcome, told in one line. */
#ifndef NORN_TESTS_MPI_ATTACH_H
#define NORN_TESTS_MPI_ATTACH_H

#include <stdio.h>
#include <string.h>

/* 0 where a call gave the status, with every one of the texts in norn_last_error(); else says what it gave. */
static int gave(norn_status got, norn_status right, char **texts, int count) {
    const char *text = got == NORN_OK ? "" : norn_last_error();
    int wrong = got != right;
    for (int i = 0; i < count; i++) wrong |= strstr(text, texts[i]) == NULL;
    if (wrong) printf("gave %s: %s\n", norn_status_name(got), text);
    return wrong;
}

static norn_status status_of(const char *name) {
    for (norn_status status = 0; status > -200; status--) {
        if (strcmp(norn_status_name(status), name) == 0) return status;
    }
    printf("%s is no status\n", name);
    return 1;
}

#endif
