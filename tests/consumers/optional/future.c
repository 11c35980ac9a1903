/* What a newer libnorn has beside today's. */
#include <stdint.h>

int32_t norn_future(int32_t argument);

int32_t norn_future(int32_t argument) { return argument; }
