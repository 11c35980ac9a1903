// Each header compiles alone, twice, and defines nothing that a second unit defines too.
#include NORN_HEADER
#include NORN_HEADER

int NORN_UNIT() { return static_cast<int>(sizeof(norn_token)); }
