#include "complain.h"

#include <stdarg.h>
#include <stdio.h>

static int later;
static char kept[COMPLAINT_BYTES];

void complain_later(void) {
    later = 1;
}

const char *complaint(void) {
    return kept;
}

int complain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (later) {
        if (kept[0] == '\0')
            vsnprintf(kept, sizeof kept, format, arguments);
    } else {
        fputs("cholesky: ", stderr);
        vfprintf(stderr, format, arguments);
        fputc('\n', stderr);
    }
    va_end(arguments);
    return -1;
}
