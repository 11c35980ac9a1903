/* linked OTHER: another part of the program is linked with norn; norn_dl_load takes that one and not OTHER. */
#include "expect.h"

norn_runtime *open_directly(void); /* linked_directly.c */

int main(int argc, char **argv) {
    norn_runtime *rt = open_directly();
    EXPECT(argc == 2);
    EXPECT(rt != NULL);
    EXPECT_STATUS(norn_dl_load(argv[1]), NORN_OK);
    EXPECT(norn_dl_missing(0) == NULL);
    two_tasks(rt);
    EXPECT_STATUS(norn_close(rt), NORN_OK);
    return 0;
}
