/* The header after others, and alone in nothing else than its own effect. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <norn.h>

norn_status last(norn_runtime *rt);
norn_status last(norn_runtime *rt) { return norn_drain(rt, 0); }
