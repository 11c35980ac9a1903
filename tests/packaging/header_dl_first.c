/* norn_dl.h before any other header, twice, with norn.h after it. Compiled, and linked without libnorn, by every
 * compiler and language version of run.sh, as C and as C++. */
#include <norn_dl.h>
#include <norn_dl.h>

#include <norn.h>

norn_status (*const a_function)(norn_runtime *rt) = norn_close;

int main(void) {
    norn_runtime *rt;
    norn_config config = NORN_CONFIG_INIT;
    if (norn_dl_load("") != NORN_E_INVALID || norn_dl_error()[0] == 0 || norn_dl_missing(0)) return 1;
    if (norn_open(&config, &rt) != NORN_E_UNSUPPORTED || norn_last_error()[0] == 0) return 1;
    return norn_status_name(a_function(rt))[0] == 'N' ? 0 : 1;
}
