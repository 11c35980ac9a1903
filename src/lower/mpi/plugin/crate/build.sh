#!/bin/sh
# Builds the plug-in in Rust.
#
#   build.sh MPICC FILE [CARGO_TARGET_DIR]
#
# MPICC: the compiler wrapper of its MPI. mpi-sys needs libclang.
set -eu
mpicc=$1
file=$2
here=$(cd "$(dirname "$0")" && pwd)
target=${3:-$here/target}
MPICC=$mpicc cargo build --quiet --release --locked --manifest-path "$here/Cargo.toml" --target-dir "$target"
# MPI's symbols are left open, as those of the plug-in in C are.
map=$(mktemp)
trap 'rm -f "$map"' EXIT
echo '{ global: norn_mpi_plugin; local: *; };' >"$map"
cc -shared -o "$file" -Wl,--undefined=norn_mpi_plugin "$target/release/libnorn_mpi.a" -Wl,--version-script="$map" \
    -Wl,--gc-sections -Wl,--strip-debug -Wl,-z,undefs,-z,relro,-z,now -lpthread -ldl -lm
