/* Every error of this program is one line on standard error. */
#ifndef COMPLAIN_H
#define COMPLAIN_H

/* Longest complaint that is kept. */
enum { COMPLAINT_BYTES = 1024 };

/* Writes "cholesky: ", the text and a newline. Returns -1. */
__attribute__((format(printf, 1, 2))) int complain(const char *format, ...);

/* From now on complaints are kept instead of written, for another rank to write. */
void complain_later(void);

/* The first that was kept, or "". */
const char *complaint(void);

#endif
