#ifndef OPTIONS_H
#define OPTIONS_H

enum { EXIT_USAGE = 2 };

struct options {
    const char *matrix, *rhs, *output;
    int size, tile, workers, repeat;
    int size_given, mpi, device, alone, check, help;
};

void print_help(void);

/* Returns 0, or -1 after a complaint. */
int parse_options(int argc, char **argv, struct options *options);

#endif
