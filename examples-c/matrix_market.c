#define _POSIX_C_SOURCE 200809L /* getline, strtok_r, strcasecmp */

#include "matrix_market.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum field { REAL, INTEGER, PATTERN };

/* One file being read, and where its complaints go. */
struct reader {
    const char *path;
    FILE *file;
    char *line; /* the current line; getline's */
    size_t capacity;
    long number; /* of the current line, from 1 */
    char *why;
    size_t why_bytes;

    int coordinate; /* else array */
    enum field field;
    int symmetric;
    struct mm_matrix *matrix;
    unsigned char *seen; /* one bit a place of the matrix (coordinate only) */
};

/* Words of a line that count; one more shows that there is something behind them. */
enum { MAX_WORDS = 6 };

struct words {
    int count;
    char *word[MAX_WORDS];
};

/* The file's own text appears in messages: nothing of it may move the cursor of a terminal. */
static void make_printable(char *text) {
    for (; *text != '\0'; text++)
        if (!isprint((unsigned char)*text))
            *text = '?';
}

__attribute__((format(printf, 2, 3)))
static int refuse(struct reader *reader, const char *format, ...) {
    char message[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    make_printable(message);
    snprintf(reader->why, reader->why_bytes, "%s:%ld: %s", reader->path, reader->number, message);
    return -1;
}

/* Reads one line. 1: there is one, 0: the file is at its end, -1: refused. */
static int read_line(struct reader *reader) {
    errno = 0;
    ssize_t length = getline(&reader->line, &reader->capacity, reader->file);
    if (length < 0) {
        if (feof(reader->file))
            return 0;
        snprintf(reader->why, reader->why_bytes, "%s: cannot read: %s", reader->path, strerror(errno));
        return -1;
    }
    reader->number++;
    if (strlen(reader->line) != (size_t)length)
        return refuse(reader, "a zero byte: this is not a text file");
    return 1;
}

static int is_comment_or_blank(const char *line) {
    line += strspn(line, " \t\r\n\v\f");
    return *line == '\0' || *line == '%';
}

/* Reads the next line that says something and cuts it into words. Results as read_line. */
static int read_words(struct reader *reader, struct words *words) {
    int got;
    do
        got = read_line(reader);
    while (got == 1 && is_comment_or_blank(reader->line));
    if (got != 1)
        return got;

    char *rest = NULL;
    words->count = 0;
    for (char *word = strtok_r(reader->line, " \t\r\n\v\f", &rest); word != NULL && words->count < MAX_WORDS;
         word = strtok_r(NULL, " \t\r\n\v\f", &rest))
        words->word[words->count++] = word;
    return 1;
}

/* A whole number of at least `low` and at most `high`, and nothing else in the word. */
static int parse_whole(struct reader *reader, const char *word, const char *what, long long low, long long high,
                       long long *number) {
    char *end;
    errno = 0;
    *number = strtoll(word, &end, 10);
    if (end == word || *end != '\0')
        return refuse(reader, "%s: '%.40s' is not a whole number", what, word);
    if (errno == ERANGE || *number < low || *number > high)
        return refuse(reader, "%s: %.40s is not between %lld and %lld", what, word, low, high);
    return 0;
}

static int parse_value(struct reader *reader, const char *word, double *value) {
    char *end;
    *value = strtod(word, &end);
    if (end == word || *end != '\0')
        return refuse(reader, "'%.40s' is not a number", word);
    if (!isfinite(*value))
        return refuse(reader, "'%.40s' is not a finite number", word);
    if (reader->field == INTEGER && strspn(word, "+-0123456789") != strlen(word))
        return refuse(reader, "'%.40s' is not a whole number, but the header says integer", word);
    return 0;
}

/* "%%MatrixMarket matrix coordinate real general" */
static int read_header(struct reader *reader) {
    static const char banner[] = "%%MatrixMarket";
    int got = read_line(reader);
    if (got <= 0) {
        reader->number = 1;
        return got < 0 ? -1 : refuse(reader, "the file is empty");
    }

    char *rest = NULL, *word[6] = {NULL};
    word[0] = strtok_r(reader->line, " \t\r\n\v\f", &rest);
    for (int i = 1; i < 6 && word[i - 1] != NULL; i++)
        word[i] = strtok_r(NULL, " \t\r\n\v\f", &rest);
    if (word[0] == NULL || strcmp(word[0], banner) != 0)
        return refuse(reader, "not a Matrix Market file: the first line does not begin with %s", banner);
    if (word[4] == NULL || word[5] != NULL || strcasecmp(word[1], "matrix") != 0)
        return refuse(reader, "the header is not '%s matrix FORMAT FIELD SYMMETRY'", banner);

    reader->coordinate = strcasecmp(word[2], "coordinate") == 0;
    if (!reader->coordinate && strcasecmp(word[2], "array") != 0)
        return refuse(reader, "format '%.40s' is neither coordinate nor array", word[2]);

    if (strcasecmp(word[3], "real") == 0 || strcasecmp(word[3], "double") == 0)
        reader->field = REAL;
    else if (strcasecmp(word[3], "integer") == 0)
        reader->field = INTEGER;
    else if (strcasecmp(word[3], "pattern") == 0 && reader->coordinate)
        reader->field = PATTERN;
    else
        return refuse(reader, "field '%.40s' is not supported here", word[3]);

    reader->symmetric = strcasecmp(word[4], "symmetric") == 0;
    if (!reader->symmetric && strcasecmp(word[4], "general") != 0)
        return refuse(reader, "symmetry '%.40s' is neither general nor symmetric", word[4]);
    return 0;
}

/* "ROWS COLS ENTRIES" of a coordinate file, "ROWS COLS" of an array. */
static int read_size(struct reader *reader, long long *entries) {
    struct mm_matrix *matrix = reader->matrix;
    struct words words;
    long long rows, cols;
    int expected = reader->coordinate ? 3 : 2;

    int got = read_words(reader, &words);
    if (got <= 0)
        return got < 0 ? -1 : refuse(reader, "the file ends before the size of the matrix");
    if (words.count != expected)
        return refuse(reader, "the size of the matrix must be %d numbers", expected);
    if (parse_whole(reader, words.word[0], "rows", 1, INT_MAX, &rows) != 0 ||
        parse_whole(reader, words.word[1], "columns", 1, INT_MAX, &cols) != 0)
        return -1;
    if (reader->symmetric && rows != cols)
        return refuse(reader, "a symmetric matrix cannot be %lld x %lld", rows, cols);
    if ((unsigned long long)rows * (unsigned long long)cols > MM_MAX_VALUES)
        return refuse(reader, "%lld x %lld is too large: at most %zu values can be held as a dense matrix", rows, cols,
                      MM_MAX_VALUES);

    long long places = reader->symmetric ? rows * (rows + 1) / 2 : rows * cols;
    *entries = places;
    if (reader->coordinate && parse_whole(reader, words.word[2], "number of entries", 0, places, entries) != 0)
        return -1;

    matrix->rows = (int)rows;
    matrix->cols = (int)cols;
    matrix->symmetric = reader->symmetric;
    matrix->size_line = reader->number;
    return 0;
}

static int allocate(struct reader *reader) {
    size_t places = (size_t)reader->matrix->rows * (size_t)reader->matrix->cols;
    reader->matrix->values = calloc(places, sizeof(double));
    if (reader->coordinate)
        reader->seen = calloc(places / 8 + 1, 1);
    if (reader->matrix->values == NULL || (reader->coordinate && reader->seen == NULL))
        return refuse(reader, "no memory for a dense matrix of %d x %d", reader->matrix->rows, reader->matrix->cols);
    return 0;
}

static void put(struct reader *reader, int row, int col, double value) {
    struct mm_matrix *matrix = reader->matrix;
    matrix->values[(size_t)col * (size_t)matrix->rows + (size_t)row] = value;
    if (reader->symmetric)
        matrix->values[(size_t)row * (size_t)matrix->rows + (size_t)col] = value;
}

/* Whether a place has been given before; from now on it has. */
static int already_given(struct reader *reader, int row, int col) {
    size_t place = (size_t)col * (size_t)reader->matrix->rows + (size_t)row;
    unsigned char bit = (unsigned char)(1u << (place % 8));
    int given = (reader->seen[place / 8] & bit) != 0;
    reader->seen[place / 8] |= bit;
    return given;
}

/* "ROW COL VALUE", or "ROW COL" of a pattern. */
static int read_coordinate_entry(struct reader *reader, const struct words *words) {
    long long row, col;
    double value = 1.0;
    int expected = reader->field == PATTERN ? 2 : 3;

    if (words->count != expected)
        return refuse(reader, "an entry must be %d numbers on a line of its own", expected);
    if (parse_whole(reader, words->word[0], "row", 1, reader->matrix->rows, &row) != 0 ||
        parse_whole(reader, words->word[1], "column", 1, reader->matrix->cols, &col) != 0)
        return -1;
    if (reader->field != PATTERN && parse_value(reader, words->word[2], &value) != 0)
        return -1;
    if (reader->symmetric && row < col)
        return refuse(reader, "(%lld, %lld) is above the diagonal of a symmetric matrix", row, col);
    if (already_given(reader, (int)row - 1, (int)col - 1))
        return refuse(reader, "(%lld, %lld) is given twice", row, col);
    put(reader, (int)row - 1, (int)col - 1, value);
    return 0;
}

/* "VALUE" of the place (row, col), which then moves on: down the column, then to the top, or the diagonal, of the next. */
static int read_array_entry(struct reader *reader, const struct words *words, int *row, int *col) {
    double value;
    if (words->count != 1)
        return refuse(reader, "a value of an array must stand on a line of its own");
    if (parse_value(reader, words->word[0], &value) != 0)
        return -1;
    put(reader, *row, *col, value);
    if (++*row == reader->matrix->rows) {
        ++*col;
        *row = reader->symmetric ? *col : 0;
    }
    return 0;
}

static int read_entries(struct reader *reader, long long entries) {
    struct words words;
    int got, row = 0, col = 0;
    for (long long i = 0; i < entries; i++) {
        got = read_words(reader, &words);
        if (got <= 0)
            return got < 0 ? -1 : refuse(reader, "the file ends after %lld of %lld entries", i, entries);
        if ((reader->coordinate ? read_coordinate_entry(reader, &words)
                                : read_array_entry(reader, &words, &row, &col)) != 0)
            return -1;
    }
    got = read_words(reader, &words);
    return got == 1 ? refuse(reader, "more than the %lld entries announced", entries) : got;
}

static int read_file(struct reader *reader) {
    long long entries = 0;
    if (read_header(reader) != 0 || read_size(reader, &entries) != 0 || allocate(reader) != 0)
        return -1;
    return read_entries(reader, entries);
}

int mm_read(const char *path, struct mm_matrix *matrix, char *why, size_t why_bytes) {
    struct reader reader = {.path = path, .why = why, .why_bytes = why_bytes, .matrix = matrix};
    *matrix = (struct mm_matrix){0};

    reader.file = fopen(path, "r");
    if (reader.file == NULL) {
        snprintf(why, why_bytes, "%s: cannot open: %s", path, strerror(errno));
        return -1;
    }
    int result = read_file(&reader);
    fclose(reader.file);
    free(reader.line);
    free(reader.seen);
    if (result != 0)
        mm_free(matrix);
    return result;
}

int mm_write_vector(const char *path, const double *values, int rows, char *why, size_t why_bytes) {
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        snprintf(why, why_bytes, "%s: cannot create: %s", path, strerror(errno));
        return -1;
    }
    fprintf(file, "%%%%MatrixMarket matrix array real general\n%d 1\n", rows);
    for (int i = 0; i < rows; i++)
        fprintf(file, "%.17g\n", values[i]);
    int failed = ferror(file);
    if (fclose(file) != 0 || failed) {
        snprintf(why, why_bytes, "%s: cannot write: %s", path, strerror(errno));
        return -1;
    }
    return 0;
}

void mm_free(struct mm_matrix *matrix) {
    free(matrix->values);
    *matrix = (struct mm_matrix){0};
}
