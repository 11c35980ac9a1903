/*
 * Reads a Matrix Market file (https://math.nist.gov/MatrixMarket/formats.html) into dense storage.
 *
 * Formats `coordinate` and `array`; fields `real`, `integer` and (coordinate only) `pattern`, whose entries are 1;
 * symmetries `general` and `symmetric`. Comments and blank lines may stand anywhere. The reader is strict where a lenient
 * one would give a wrong matrix without a word: an entry given twice, an entry above the diagonal of a symmetric
 * matrix, a number with something behind it, a value that is not finite, and more or fewer entries than announced
 * are all refused.
 */
#ifndef MATRIX_MARKET_H
#define MATRIX_MARKET_H

#include <stddef.h>

struct mm_matrix {
    int rows, cols;
    int symmetric;  /* the header says so; `values` has both triangles all the same */
    long size_line; /* the line of the file that holds the size, for messages about it */
    double *values; /* rows x cols, by columns */
};

/* Dense storage has an end: 2^30 numbers, 8 GiB. */
#define MM_MAX_VALUES ((size_t)1 << 30)

/* Returns 0; or writes one line "file:line: what is wrong" to `why` and returns -1, and nothing is to be freed. */
int mm_read(const char *path, struct mm_matrix *matrix, char *why, size_t why_bytes);

/* Writes a vector as an array file. Returns 0, or -1 and the reason in `why`. */
int mm_write_vector(const char *path, const double *values, int rows, char *why, size_t why_bytes);

void mm_free(struct mm_matrix *matrix);

#endif
