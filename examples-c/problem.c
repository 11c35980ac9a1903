#include "problem.h"

#include "matrix_market.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t value_count(const struct problem *problem) {
    return (size_t)problem->rows * (size_t)problem->cols;
}

static int no_memory(char why[WHY_BYTES], const struct problem *problem) {
    snprintf(why, WHY_BYTES, "no memory for a problem of %d x %d", problem->rows, problem->cols);
    return -1;
}

/* b[i] = sum over j of min(i, j) x[j], counted from 1, by sums from the left of j x[j] and from the right of x[j]. */
static void minij_times(int n, const double *x, double *b) {
    double left = 0.0, right = 0.0;
    for (int i = 0; i < n; i++)
        right += x[i];
    for (int i = 0; i < n; i++) {
        left += (i + 1) * x[i];
        right -= x[i];
        b[i] = left + (i + 1) * right;
    }
}

int problem_make_minij(struct problem *problem, int n, char why[WHY_BYTES]) {
    *problem = (struct problem){.name = "min(i, j)", .rows = n, .cols = n};
    if (value_count(problem) > MM_MAX_VALUES) {
        snprintf(why, WHY_BYTES, "%d x %d is too large: at most %zu values can be held as a dense matrix", n, n,
                 MM_MAX_VALUES);
        return -1;
    }
    problem->matrix = malloc(value_count(problem) * sizeof(double));
    problem->rhs = malloc((size_t)n * sizeof(double));
    problem->known = malloc((size_t)n * sizeof(double));
    if (problem->matrix == NULL || problem->rhs == NULL || problem->known == NULL) {
        no_memory(why, problem);
        problem_free(problem);
        return -1;
    }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            problem->matrix[(size_t)j * (size_t)n + (size_t)i] = (i < j ? i : j) + 1;
    for (int i = 0; i < n; i++)
        problem->known[i] = i % 7 - 3;
    minij_times(n, problem->known, problem->rhs);
    return 0;
}

/* Whether this program can solve a system with that matrix. */
static int check_matrix(const struct mm_matrix *matrix, const char *path, char why[WHY_BYTES]) {
    size_t n = (size_t)matrix->rows;
    if (matrix->rows < matrix->cols) {
        snprintf(why, WHY_BYTES, "%s:%ld: %d x %d has fewer rows than columns: the answer is not unique", path,
                 matrix->size_line, matrix->rows, matrix->cols);
        return -1;
    }
    if (matrix->rows > matrix->cols || matrix->symmetric)
        return 0;
    for (size_t j = 0; j < n; j++) {
        for (size_t i = j + 1; i < n; i++) {
            double lower = matrix->values[j * n + i], upper = matrix->values[i * n + j];
            if (lower != upper) {
                snprintf(why, WHY_BYTES, "%s:%ld: square but not symmetric: (%zu, %zu) is %g, (%zu, %zu) is %g", path,
                         matrix->size_line, i + 1, j + 1, lower, j + 1, i + 1, upper);
                return -1;
            }
        }
    }
    return 0;
}

static int check_rhs(const struct mm_matrix *rhs, const char *path, const struct problem *problem, char why[WHY_BYTES]) {
    if (rhs->rows == problem->rows && rhs->cols == 1)
        return 0;
    snprintf(why, WHY_BYTES, "%s:%ld: the right-hand side is %d x %d, but a matrix of %d x %d needs %d x 1", path,
             rhs->size_line, rhs->rows, rhs->cols, problem->rows, problem->cols, problem->rows);
    return -1;
}

/* b = A (1, ..., 1). */
static int make_rhs(struct problem *problem, char why[WHY_BYTES]) {
    problem->rhs = calloc((size_t)problem->rows, sizeof(double));
    problem->known = malloc((size_t)problem->cols * sizeof(double));
    if (problem->rhs == NULL || problem->known == NULL)
        return no_memory(why, problem);
    for (int j = 0; j < problem->cols; j++)
        problem->known[j] = 1.0;
    cblas_dgemv(CblasColMajor, CblasNoTrans, problem->rows, problem->cols, 1.0, problem->matrix, problem->rows,
                problem->known, 1, 0.0, problem->rhs, 1);
    return 0;
}

static int read_rhs(struct problem *problem, const char *path, char why[WHY_BYTES]) {
    struct mm_matrix rhs;
    if (mm_read(path, &rhs, why, WHY_BYTES) != 0)
        return -1;
    problem->rhs = rhs.values; /* freed with the problem */
    return check_rhs(&rhs, path, problem, why);
}

int problem_read(struct problem *problem, const char *matrix_path, const char *rhs_path, char why[WHY_BYTES]) {
    struct mm_matrix matrix;
    if (mm_read(matrix_path, &matrix, why, WHY_BYTES) != 0)
        return -1;

    *problem = (struct problem){.name = matrix_path, .rows = matrix.rows, .cols = matrix.cols, .matrix = matrix.values};
    if (check_matrix(&matrix, matrix_path, why) != 0 ||
        (rhs_path != NULL ? read_rhs(problem, rhs_path, why) : make_rhs(problem, why)) != 0) {
        problem_free(problem);
        return -1;
    }
    return 0;
}

int problem_get(struct problem *problem, const char *matrix_path, const char *rhs_path, int n, char why[WHY_BYTES]) {
    return matrix_path != NULL ? problem_read(problem, matrix_path, rhs_path, why) : problem_make_minij(problem, n, why);
}

void problem_free(struct problem *problem) {
    free(problem->matrix);
    free(problem->rhs);
    free(problem->known);
    *problem = (struct problem){0};
}

/* ||x - y|| / ||y||, or ||x - y|| where y is zero. */
static double relative_difference(const double *x, const double *y, int n, double *scratch) {
    memcpy(scratch, x, (size_t)n * sizeof(double));
    cblas_daxpy(n, -1.0, y, 1, scratch, 1);
    double norm = cblas_dnrm2(n, y, 1), difference = cblas_dnrm2(n, scratch, 1);
    return norm > 0.0 ? difference / norm : difference;
}

static double frobenius_norm(const struct problem *problem) {
    return LAPACKE_dlange_work(LAPACK_COL_MAJOR, 'F', problem->rows, problem->cols, problem->matrix, problem->rows, NULL);
}

static int compare_with_dgels(const struct problem *problem, const double *x, double *difference, char why[WHY_BYTES]) {
    int rows = problem->rows, cols = problem->cols;
    /* DGELS destroys both its inputs; the answer is left in the first rows of b. */
    double *a = malloc(value_count(problem) * sizeof(double));
    double *b = malloc((size_t)rows * sizeof(double));
    double *scratch = malloc((size_t)cols * sizeof(double));
    int result = -1;
    if (a == NULL || b == NULL || scratch == NULL) {
        no_memory(why, problem);
        goto done;
    }
    memcpy(a, problem->matrix, value_count(problem) * sizeof(double));
    memcpy(b, problem->rhs, (size_t)rows * sizeof(double));

    lapack_int info = LAPACKE_dgels(LAPACK_COL_MAJOR, 'N', rows, cols, 1, a, rows, b, rows);
    if (info != 0) {
        snprintf(why, WHY_BYTES, "%s: DGELS gives no answer (info %d)%s", problem->name, (int)info,
                 info > 0 ? ": the columns of the matrix are linearly dependent" : "");
        goto done;
    }
    *difference = relative_difference(x, b, cols, scratch);
    result = 0;
done:
    free(a);
    free(b);
    free(scratch);
    return result;
}

/* Fills in all of `quality` but the comparison with DGELS. `residual` and `scratch` have room for rows and columns. */
static void measure(const struct problem *problem, const double *x, struct quality *quality, double *residual,
                    double *scratch) {
    int rows = problem->rows, cols = problem->cols;
    memcpy(residual, problem->rhs, (size_t)rows * sizeof(double));
    cblas_dgemv(CblasColMajor, CblasNoTrans, rows, cols, -1.0, problem->matrix, rows, x, 1, 1.0, residual, 1);
    quality->residual = cblas_dnrm2(rows, residual, 1);
    cblas_dgemv(CblasColMajor, CblasTrans, rows, cols, 1.0, problem->matrix, rows, residual, 1, 0.0, scratch, 1);
    quality->gradient = cblas_dnrm2(cols, scratch, 1);

    double scale = frobenius_norm(problem) * cblas_dnrm2(cols, x, 1) + cblas_dnrm2(rows, problem->rhs, 1);
    quality->backward_error = scale > 0.0 ? quality->residual / scale : quality->residual;
    if (problem->known != NULL)
        quality->from_known = relative_difference(x, problem->known, cols, scratch);
}

int problem_assess(const struct problem *problem, const double *x, struct quality *quality, char why[WHY_BYTES]) {
    *quality = (struct quality){.from_known = -1.0, .from_dgels = -1.0};
    for (int i = 0; i < problem->cols; i++) {
        if (!isfinite(x[i])) {
            snprintf(why, WHY_BYTES, "%s: the answer is not finite: component %d is %g", problem->name, i + 1, x[i]);
            return -1;
        }
    }

    double *residual = malloc((size_t)problem->rows * sizeof(double));
    double *scratch = malloc((size_t)problem->cols * sizeof(double));
    int result = residual != NULL && scratch != NULL ? 0 : no_memory(why, problem);
    if (result == 0)
        measure(problem, x, quality, residual, scratch);
    free(residual);
    free(scratch);
    if (result == 0 && problem_is_least_squares(problem))
        result = compare_with_dgels(problem, x, &quality->from_dgels, why);
    return result;
}
