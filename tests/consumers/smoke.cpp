// The C program, compiled as C++: the header serves both.
#include "smoke.c"
