/* One program, two Rust libraries: each catches its own panics, and norn works
 * before and after. */
#define main smoke
#include "../../consumers/smoke.c"
#undef main

int32_t second_rust_catches(void);

int main(void) {
    int caught;

    if (smoke() != 0) return 1;
    caught = (int)second_rust_catches();
    if (caught != 2) {
        fprintf(stderr, "%d of 2 panics were caught\n", caught);
        return 1;
    }
    ran = 0;
    return smoke();
}
