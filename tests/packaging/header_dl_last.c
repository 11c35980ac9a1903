/* norn_dl.h after norn.h, which another header may have included, and after the system's. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <norn.h>

#include <norn_dl.h>

int main(void) {
    norn_runtime *rt;
    norn_config config = NORN_CONFIG_INIT;
    return norn_open(&config, &rt) == NORN_E_UNSUPPORTED ? 0 : 1;
}
