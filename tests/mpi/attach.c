/*
 * Attaches a world to MPI_COMM_WORLD and detaches it, or fails as it should.
 *
 *   attach WHEN STATUS [TEXT...]    WHEN: before (MPI_Init), active, after (MPI_Finalize)
 *
 * Ends with 0 where norn_world_attach gave STATUS and a text that has every TEXT in it.
 */
#include <mpi.h>
#include <norn_mpi.h>

#ifdef REGISTERED
#include <norn_mpi_plugin.h>
const norn_mpi_table *norn_mpi_plugin(void);
#endif

#include "attach.h"

int main(int argc, char **argv) {
    norn_runtime *rt;
    norn_world *world;
    int wrong = 1;
    if (argc < 3) return puts("usage: attach WHEN STATUS [TEXT...]"), 2;
#ifdef REGISTERED
    if (norn_mpi_register(norn_mpi_plugin()) != NORN_OK) return puts(norn_last_error()), 1;
#endif
    if (norn_open(NULL, &rt) != NORN_OK) return puts(norn_last_error()), 1;
    if (strcmp(argv[1], "before") == 0) {
        wrong = gave(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world), status_of(argv[2]), argv + 3, argc - 3);
        MPI_Init(NULL, NULL);
    } else {
        MPI_Init(NULL, NULL);
        if (strcmp(argv[1], "active") == 0) {
            norn_status status = norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world);
            wrong = gave(status, status_of(argv[2]), argv + 3, argc - 3);
            if (status == NORN_OK) wrong |= gave(norn_world_detach(world, INT64_C(60000000000)), NORN_OK, NULL, 0);
        }
    }
    MPI_Finalize();
    if (strcmp(argv[1], "after") == 0) {
        wrong = gave(norn_world_attach(rt, MPI_COMM_WORLD, NULL, &world), status_of(argv[2]), argv + 3, argc - 3);
    }
    wrong |= gave(norn_close(rt), NORN_OK, NULL, 0);
    return wrong;
}
