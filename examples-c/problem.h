/* What is to be solved, dense, and how good an answer is. */
#ifndef PROBLEM_H
#define PROBLEM_H

struct problem {
    const char *name;
    int rows, cols; /* rows == cols: A is symmetric positive definite; rows > cols: least squares */
    double *matrix; /* by columns */
    double *rhs;
    double *known; /* the exact answer where there is one, else NULL */
};

/* Longest message that the functions below write to `why`. */
enum { WHY_BYTES = 640 };

static inline int problem_is_least_squares(const struct problem *problem) {
    return problem->rows > problem->cols;
}

/* All of these return 0, or -1 and one line in `why`. On an error nothing is to be freed. */

/* The matrix min(i, j) of order n, whose factor is the lower triangle of ones, with a right-hand side of whole
 * numbers. No operation on it rounds, so the answer must be exact: one update too few or too early shows. */
int problem_make_minij(struct problem *problem, int n, char why[WHY_BYTES]);

/* From Matrix Market files. Without a right-hand side (NULL) it is A times the vector of ones. */
int problem_read(struct problem *problem, const char *matrix_path, const char *rhs_path, char why[WHY_BYTES]);

/* The one of the two that a path, or NULL, asks for. */
int problem_get(struct problem *problem, const char *matrix_path, const char *rhs_path, int n, char why[WHY_BYTES]);

void problem_free(struct problem *problem);

struct quality {
    double residual;       /* ||b - A x|| */
    double gradient;       /* ||A^T (b - A x)||, which least squares makes zero */
    double backward_error; /* residual / (||A|| ||x|| + ||b||), Frobenius norm of A */
    double from_known;     /* ||x - y|| / ||y|| with the known answer y, or -1 */
    double from_dgels;     /* the same with that of LAPACK's DGELS, which solves least squares by orthogonal factors; or -1 */
};

/* An answer that is not finite is refused. */
int problem_assess(const struct problem *problem, const double *x, struct quality *quality, char why[WHY_BYTES]);

#endif
