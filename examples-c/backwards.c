/*
 * A reverse-mode derivative, with the whole graph built from the answer back to the input.
 *
 * The function: n steps of the explicit Euler method for x' = sin x over the time 1,
 *
 *     v[i+1] = v[i] + sin(v[i]) / n,        y = v[n],
 *
 * and what is wanted is dy/dv[0]. The chain rule gives it from the last step to the first,
 *
 *     g[n] = 1,        g[i] = g[i+1] * (1 + cos(v[i]) / n),        dy/dv[0] = g[0].
 *
 * A tool for reverse-mode differentiation meets the result first and asks for what it is made of. So does this
 * program: it submits the task for g[0] before the one for g[1] that it waits for, and so on, and the steps that
 * compute v last. norn_declare names a task's completion before the task exists; `task.as` binds the task to that
 * name later. Nothing can run before the very last submission, which needs nothing but v[0]; then everything does.
 *
 * The answer is checked against forward-mode differentiation in a plain loop.
 *
 *     backwards [STEPS]        1000 steps if not said otherwise
 */
#include <norn.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEFAULT_STEPS = 1000, MAX_STEPS = 10000000 };
static const double START = 0.75;
static const double TOLERANCE = 1e-12;

/* Both kinds of step read one or two numbers and write one. 40 bytes, so norn keeps a copy (NORN_COPY_ARG). */
struct step {
    const double *value;   /* v[i] */
    const double *adjoint; /* g[i+1], backward steps only */
    double *result;        /* v[i+1] or g[i] */
    double h;              /* length of a time step */
};

static int32_t forward_step(norn_self *self, void *arg) {
    const struct step *step = arg;
    (void)self;
    *step->result = *step->value + sin(*step->value) * step->h;
    return 0;
}

static int32_t backward_step(norn_self *self, void *arg) {
    const struct step *step = arg;
    (void)self;
    *step->result = *step->adjoint * (1.0 + cos(*step->value) * step->h);
    return 0;
}

struct chain {
    long steps;
    double *value;             /* v[0] .. v[steps] */
    double *adjoint;           /* g[0] .. g[steps] */
    norn_token *value_token;   /* "v[i] is there"; [0] stays {0}, which means complete: the input needs no task */
    norn_token *adjoint_token; /* "g[i] is there"; [steps] stays {0}: the seed g[steps] = 1 needs none either */
};

static int chain_create(struct chain *chain, long steps) {
    size_t count = (size_t)steps + 1;
    chain->steps = steps;
    chain->value = calloc(count, sizeof *chain->value);
    chain->adjoint = calloc(count, sizeof *chain->adjoint);
    chain->value_token = calloc(count, sizeof *chain->value_token);
    chain->adjoint_token = calloc(count, sizeof *chain->adjoint_token);
    if (chain->value == NULL || chain->adjoint == NULL || chain->value_token == NULL || chain->adjoint_token == NULL)
        return -1;
    chain->value[0] = START;
    chain->adjoint[steps] = 1.0;
    return 0;
}

static void chain_free(struct chain *chain) {
    free(chain->value);
    free(chain->adjoint);
    free(chain->value_token);
    free(chain->adjoint_token);
}

/* Submits the task that makes g[i]: the consumer of g[i+1] and v[i], neither of which has a task yet. */
static norn_status submit_backward(norn_runtime *rt, struct chain *chain, long i) {
    struct step step = {&chain->value[i], &chain->adjoint[i + 1], &chain->adjoint[i], 1.0 / (double)chain->steps};
    norn_status status;

    if (i + 1 < chain->steps &&
        (status = norn_declare(rt, "backward step", &chain->adjoint_token[i + 1])) != NORN_OK)
        return status;
    if (i > 0 && (status = norn_declare(rt, "forward step", &chain->value_token[i])) != NORN_OK)
        return status;

    norn_token needs[] = {chain->adjoint_token[i + 1], chain->value_token[i]};
    norn_task task = NORN_TASK_INIT;
    task.run = backward_step;
    task.name = "backward step";
    task.arg = &step;
    task.arg_bytes = sizeof step;
    task.flags = NORN_COPY_ARG;
    task.after = needs;
    task.after_count = 2;
    task.as = chain->adjoint_token[i];
    return norn_submit(rt, &task, NULL);
}

/* Submits the task that makes v[i+1] from v[i]. v[steps] is y itself, which no step of the derivative reads. */
static norn_status submit_forward(norn_runtime *rt, struct chain *chain, long i) {
    struct step step = {&chain->value[i], NULL, &chain->value[i + 1], 1.0 / (double)chain->steps};
    norn_task task = NORN_TASK_INIT;
    task.run = forward_step;
    task.name = "forward step";
    task.arg = &step;
    task.arg_bytes = sizeof step;
    task.flags = NORN_COPY_ARG;
    task.after = &chain->value_token[i];
    task.after_count = 1;
    task.as = chain->value_token[i + 1];
    return norn_submit(rt, &task, NULL);
}

/* The answer first, the input last; then one await for the answer and one for y. */
static norn_status run_backwards(norn_runtime *rt, struct chain *chain) {
    norn_status status = norn_declare(rt, "gradient", &chain->adjoint_token[0]);
    if (status == NORN_OK)
        status = norn_declare(rt, "y", &chain->value_token[chain->steps]);
    for (long i = 0; i < chain->steps && status == NORN_OK; i++)
        status = submit_backward(rt, chain, i);
    for (long i = chain->steps - 1; i >= 0 && status == NORN_OK; i--)
        status = submit_forward(rt, chain, i);
    if (status != NORN_OK)
        return status;

    norn_token wanted[] = {chain->adjoint_token[0], chain->value_token[chain->steps]};
    return norn_await_all(rt, wanted, 2, -1);
}

/* y and dy/dv[0] together, from the first step to the last: a dual number in a plain loop. */
static void run_forwards(long steps, double *y, double *gradient) {
    double h = 1.0 / (double)steps;
    *y = START;
    *gradient = 1.0;
    for (long i = 0; i < steps; i++) {
        *gradient *= 1.0 + cos(*y) * h;
        *y += sin(*y) * h;
    }
}

static int parse_steps(const char *text, long *steps) {
    char *end;
    errno = 0;
    *steps = strtol(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *steps >= 1 && *steps <= MAX_STEPS ? 0 : -1;
}

static int compare(const struct chain *chain) {
    double y, gradient;
    run_forwards(chain->steps, &y, &gradient);

    double difference = fabs(chain->adjoint[0] - gradient) / fabs(gradient);
    printf("steps     %ld\n", chain->steps);
    printf("y         %.15g\n", chain->value[chain->steps]);
    printf("backward  %.15g\n", chain->adjoint[0]);
    printf("forward   %.15g\n", gradient);
    printf("relative difference %.1e\n", difference);

    /* Written so that a NaN fails too. */
    if (!(difference <= TOLERANCE) || !(fabs(chain->value[chain->steps] - y) <= TOLERANCE * fabs(y))) {
        fprintf(stderr, "backwards: the two answers differ by more than %.0e\n", TOLERANCE);
        return -1;
    }
    return 0;
}

static int complain(norn_status status) {
    fprintf(stderr, "backwards: %s: %s\n", norn_status_name(status), norn_last_error());
    return -1;
}

static int differentiate(struct chain *chain) {
    norn_runtime *rt;
    norn_status status = norn_open(NULL, &rt);
    if (status != NORN_OK)
        return complain(status);

    status = run_backwards(rt, chain);
    if (status != NORN_OK) {
        complain(status);
        /* Part of the graph may have no producer and never get one: cancel what is left, and wait for what runs,
         * because the tasks write into the chain that the caller frees. */
        norn_close_with(rt, NORN_CANCEL, -1);
        return -1;
    }

    int matches = compare(chain);
    status = norn_close(rt);
    return status == NORN_OK ? matches : complain(status);
}

int main(int argc, char **argv) {
    long steps = DEFAULT_STEPS;
    if (argc > 2 || (argc == 2 && parse_steps(argv[1], &steps) != 0)) {
        fprintf(stderr, "usage: backwards [STEPS]    1 <= STEPS <= %d\n", MAX_STEPS);
        return 2;
    }

    struct chain chain;
    if (chain_create(&chain, steps) != 0) {
        fprintf(stderr, "backwards: no memory for %ld steps\n", steps);
        chain_free(&chain);
        return EXIT_FAILURE;
    }

    int ok = differentiate(&chain) == 0;
    chain_free(&chain);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
