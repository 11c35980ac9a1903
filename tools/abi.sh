#!/bin/sh
# The ABI as committed under tests/packaging (docs/versioning.md):
#
#   abi.sh symbols LIBRARY   prints what LIBRARY exports, with the version nodes
#   abi.sh dump FILE         writes the types of the C API, as abidw sees them
#   abi.sh refresh LIBRARY   writes both to tests/packaging
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)

symbols() {
    LC_ALL=C nm -D --defined-only --with-symbol-versions "$1" |
        sed -n 's/^[0-9a-f]* [TDBRVWi] \([^@]*\)@@*\(.*\)$/\1 \2/p; s/^[0-9a-f]* [TDBRVWi] \([^@]*\)$/\1 unversioned/p' |
        LC_ALL=C sort
}

# rustc's debug information names functions by their Rust path, which abidw
# cannot match with the symbols. So the dump is of a library with the same
# symbols and versions whose functions the C compiler makes from the header; the
# header itself is generated from the Rust types.
dump() {
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    {
        echo '#include <norn.h>'
        "$top/tools/prototypes.sh" | sed 's/;$/ { __builtin_trap(); }/'
    } >"$work/norn.c"
    "${CC:-cc}" -g -O0 -w -shared -fPIC -I "$top/include" -Wl,-soname,libnorn.so.0 \
        -Wl,--version-script="$top/cmake/norn.map" -o "$work/libnorn.so" "$work/norn.c"
    abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --out-file "$1" "$work/libnorn.so"
}

case "${1:-}" in
symbols) symbols "$2" ;;
dump) dump "$2" ;;
refresh)
    symbols "$2" >"$top/tests/packaging/symbols.txt"
    dump "$top/tests/packaging/norn.abi"
    ;;
*)
    sed -n '2,6p' "$0" >&2
    exit 2
    ;;
esac
