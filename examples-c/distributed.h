#ifndef DISTRIBUTED_H
#define DISTRIBUTED_H

/* The program on the ranks of MPI. Returns the exit status. */
int distributed_main(int argc, char **argv);

#endif
