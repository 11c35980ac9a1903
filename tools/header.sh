#!/bin/sh
# Generates include/norn.h from src/abi, and the header of the MPI plug-ins from
# their table, with the one cbindgen version whose output is committed. With
# --check: fails when a committed header differs.
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

plugin=src/lower/mpi/plugin
generate() { # folder to write to, in which the headers lie as here
    "$cbindgen" --quiet --config cbindgen.toml --output "$1/include/norn.h" .
    "$cbindgen" --quiet --config $plugin/cbindgen.toml --output "$1/$plugin/norn_mpi_plugin.h" src/lower/mpi/table.rs
}

if [ "${1:-}" = --check ]; then
    fresh=$(mktemp -d)
    trap 'rm -rf "$fresh"' EXIT
    mkdir -p "$fresh/include" "$fresh/$plugin"
    generate "$fresh"
    for header in include/norn.h $plugin/norn_mpi_plugin.h; do
        if ! diff -u $header "$fresh/$header"; then
            echo "header: $header is not what the Rust source says; run 'make header'" >&2
            exit 1
        fi
    done
else
    generate .
fi
