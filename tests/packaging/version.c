/* The header's macros, the loaded library and the package agree on the version.
 * Argument: the version in Cargo.toml. */
#include <norn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    int32_t major = -1, minor = -1, patch = -1;
    char header[64], library[64];

    if (argc != 2 || norn_version(&major, &minor, &patch) != NORN_OK) return 2;
    snprintf(header, sizeof header, "%d.%d.%d", NORN_VERSION_MAJOR, NORN_VERSION_MINOR, NORN_VERSION_PATCH);
    snprintf(library, sizeof library, "%d.%d.%d", major, minor, patch);
    if (strcmp(header, argv[1]) != 0 || strcmp(library, argv[1]) != 0) {
        fprintf(stderr, "Cargo.toml says %s, norn.h %s, norn_version %s\n", argv[1], header, library);
        return 1;
    }
    /* The packed number is what norn_open passes; each part must reach it. */
    if (NORN_HEADER_VERSION != major * 1000000 + minor * 1000 + patch) {
        fprintf(stderr, "NORN_HEADER_VERSION is %d for version %s\n", NORN_HEADER_VERSION, library);
        return 1;
    }
    return 0;
}
