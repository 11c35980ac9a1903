/*
 * A program that is not linked with MPI.
 *
 *   private STATUS TEXT...     attaches without any MPI
 *   private MODULE             loads a module with RTLD_LOCAL, as interpreters do, whose MPI then is private to it;
 *                              the module attaches
 */
#include <dlfcn.h>
#include <norn.h>

#include "attach.h"

int main(int argc, char **argv) {
    if (argc < 2) return puts("usage: private STATUS TEXT... | MODULE"), 2;
    if (argc == 2) {
        void *module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (module == NULL) return puts(dlerror()), 1;
        int (*run)(void);
        *(void **)&run = dlsym(module, "run");
        if (run == NULL) return puts(dlerror()), 1;
        if (dlsym(RTLD_DEFAULT, "MPI_Init") != NULL) return puts("the MPI is not private"), 1;
        return run();
    }
    norn_runtime *rt;
    norn_world *world;
    if (norn_open(NULL, &rt) != NORN_OK) return puts(norn_last_error()), 1;
    int wrong = gave(norn_world_attach_f(rt, 0, NULL, &world), status_of(argv[1]), argv + 2, argc - 2);
    return wrong | gave(norn_close(rt), NORN_OK, NULL, 0);
}
