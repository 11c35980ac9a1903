#include "options.h"

#include "complain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void print_help(void) {
    puts("usage: cholesky [OPTION]...\n"
         "Solves A x = b for a symmetric positive definite A, or min ||A x - b|| for an A with more rows than columns.\n"
         "\n"
         "  --matrix FILE   A, in Matrix Market format; else the built-in matrix min(i, j)\n"
         "  --rhs FILE      b, likewise; else A times the vector of ones\n"
         "  --size N        order of the built-in matrix (2048)\n"
         "  --tile N        rows and columns of a tile (128)\n"
         "  --workers N     bodies that run at once (as many as there are cores)\n"
         "  --repeat N      run N times and give the best time (3)\n"
         "  --output FILE   write x, in Matrix Market format\n"
         "  --device        factorise on a device, by cuBLAS and cuSOLVER; where there is none, or not these, on the host\n"
         "  --alone         leave out the plain loop, and with it the comparison of the answers\n"
         "  --mpi           run on the ranks of MPI, also where no launcher that is known has started them\n"
         "  --check         fail if the answer is not as good as it should be\n"
         "  --help          this text");
}

static int parse_int(const char *option, const char *text, int low, int high, int *number) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0')
        return complain("%s: '%s' is not a whole number", option, text);
    if (errno == ERANGE || value < low || value > high)
        return complain("%s: %s is not between %d and %d", option, text, low, high);
    *number = (int)value;
    return 0;
}

/* Takes one option with its value. */
static int parse_option(const char *option, const char *value, struct options *options) {
    const struct { const char *name; const char **text; int *number; int low, high; } known[] = {
        {"--matrix", &options->matrix, NULL, 0, 0},
        {"--rhs", &options->rhs, NULL, 0, 0},
        {"--output", &options->output, NULL, 0, 0},
        {"--size", NULL, &options->size, 1, 1 << 20},
        {"--tile", NULL, &options->tile, 1, 1 << 14},
        {"--workers", NULL, &options->workers, 0, 4096},
        {"--repeat", NULL, &options->repeat, 1, 1000},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(option, known[i].name) != 0)
            continue;
        if (value == NULL)
            return complain("%s needs a value", option);
        if (known[i].text != NULL) {
            *known[i].text = value;
            return 0;
        }
        options->size_given |= known[i].number == &options->size;
        return parse_int(option, value, known[i].low, known[i].high, known[i].number);
    }
    return complain("unknown option '%s' (try --help)", option);
}

int parse_options(int argc, char **argv, struct options *options) {
    *options = (struct options){.size = 2048, .tile = 128, .workers = -1, .repeat = 3};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0)
            options->help = 1;
        else if (strcmp(argv[i], "--check") == 0)
            options->check = 1;
        else if (strcmp(argv[i], "--mpi") == 0)
            options->mpi = 1;
        else if (strcmp(argv[i], "--device") == 0)
            options->device = 1;
        else if (strcmp(argv[i], "--alone") == 0)
            options->alone = 1;
        else if (parse_option(argv[i], argv[i + 1], options) != 0) /* argv ends with a NULL */
            return -1;
        else
            i++;
    }
    if (options->matrix != NULL && options->size_given)
        return complain("--size is for the built-in matrix, not for --matrix");
    if (options->matrix == NULL && options->rhs != NULL)
        return complain("--rhs needs --matrix");
    return 0;
}
