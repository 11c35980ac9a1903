/* A module of an interpreter, linked with MPI; see private.c. */
#include <mpi.h>
#include <norn_mpi.h>

#include "attach.h"

int run(void);
int run(void) {
    norn_runtime *rt;
    norn_world *world;
    MPI_Init(NULL, NULL);
    if (norn_open(NULL, &rt) != NORN_OK) return puts(norn_last_error()), 1;
    int wrong = gave(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world), status_of("NORN_OK"), NULL, 0);
    if (!wrong) wrong = gave(norn_world_detach(world, INT64_C(60000000000)), NORN_OK, NULL, 0);
    wrong |= gave(norn_close(rt), NORN_OK, NULL, 0);
    MPI_Finalize();
    return wrong;
}
