#!/bin/sh
# Generates include/norn.h from src/abi with the one cbindgen version whose
# output is committed. With --check: fails when the committed header differs.
set -eu
cd "$(dirname "$0")/.."

version=0.29.4
cbindgen=cbindgen
if [ "$(cbindgen --version 2>/dev/null)" != "cbindgen $version" ]; then
    cbindgen=.cache/tools/bin/cbindgen
    if [ "$($cbindgen --version 2>/dev/null)" != "cbindgen $version" ]; then
        cargo install cbindgen --version "$version" --locked --root .cache/tools
    fi
fi

if [ "${1:-}" = --check ]; then
    fresh=$(mktemp)
    trap 'rm -f "$fresh"' EXIT
    "$cbindgen" --quiet --config cbindgen.toml --output "$fresh" .
    if ! diff -u include/norn.h "$fresh"; then
        echo "header: include/norn.h is not what src/abi says; run 'make header'" >&2
        exit 1
    fi
else
    "$cbindgen" --quiet --config cbindgen.toml --output include/norn.h .
fi
