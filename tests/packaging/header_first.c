/* The header before any other, twice, and what it expands to. Compiled by every
 * compiler and language version of run.sh, as C and as C++. */
#include <norn.h>
#include <norn.h>

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In C the initialisers must be constant. */
extern const norn_config a_config;
extern const norn_task a_task;
extern const norn_data_desc a_datum;
extern const norn_error_info an_error;
extern const norn_self_info a_self;
extern const norn_runtime_stats some_stats;
const norn_config a_config = NORN_CONFIG_INIT;
const norn_task a_task = NORN_TASK_INIT;
const norn_data_desc a_datum = NORN_DATA_DESC_INIT;
const norn_error_info an_error = NORN_ERROR_INFO_INIT;
const norn_self_info a_self = NORN_SELF_INFO_INIT;
const norn_runtime_stats some_stats = NORN_RUNTIME_STATS_INIT;

norn_access accesses(norn_data data, norn_runtime **rt);
norn_access accesses(norn_data data, norn_runtime **rt) {
    norn_access all[5];
    norn_place place = norn_place_of(NORN_PLACE_CPU, 0);
    all[0] = norn_read(data);
    all[1] = norn_write(data);
    all[2] = norn_update(data);
    all[3] = norn_commute(data);
    all[4] = norn_reduce_into(data);
    return all[(norn_open(&a_config, rt) + place.index) % 5];
}
