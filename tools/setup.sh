#!/bin/sh
# Installs what `make check` and `make demo` need: on Debian and its children as
# root with apt-get; elsewhere it says what is missing and stops.
set -eu

packages="gcc g++ gfortran clang llvm cmake make ninja-build pkg-config binutils libopenblas-dev liblapacke-dev abigail-tools dpkg-dev file python3 git openmpi-bin libopenmpi-dev mpich libmpich-dev"

if command -v dpkg-query >/dev/null; then
    missing=
    for package in $packages; do
        state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || state=none
        [ "$state" = installed ] || missing="$missing $package"
    done
    if [ -n "$missing" ]; then
        if [ "$(id -u)" -ne 0 ]; then
            echo "setup: missing packages. As root: apt-get install -y --no-install-recommends$missing" >&2
            exit 1
        fi
        export DEBIAN_FRONTEND=noninteractive
        apt-get update
        # shellcheck disable=SC2086 # a list of names
        apt-get install -y --no-install-recommends $missing
    fi
else
    missing=
    for tool in gcc g++ clang cmake make ninja pkg-config ld objcopy nm readelf python3 git; do
        command -v "$tool" >/dev/null || missing="$missing $tool"
    done
    for library in openblas lapacke; do
        pkg-config --exists "$library" || missing="$missing $library"
    done
    if [ -n "$missing" ]; then
        echo "setup: install with this system's package manager:$missing" >&2
        exit 1
    fi
    command -v gfortran >/dev/null || echo "setup: without gfortran the Fortran module is not tested"
fi

if ! command -v cargo >/dev/null; then
    oldest=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$(dirname "$0")/../Cargo.toml")
    echo "setup: cargo is not on PATH. Install Rust $oldest or newer, for example from https://rustup.rs" >&2
    exit 1
fi
for component in rustfmt clippy; do
    command -v "cargo-${component#rust}" >/dev/null && cargo "${component#rust}" --version >/dev/null 2>&1 && continue
    if ! command -v rustup >/dev/null; then
        echo "setup: cargo ${component#rust} is missing; install $component of this Rust toolchain" >&2
        exit 1
    fi
    rustup component add "$component"
done
# The sanitizers need Rust's nightly with the source of its library; without it they are left out.
if command -v rustup >/dev/null; then
    library=$(rustup run nightly rustc --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library
    [ -e "$library/Cargo.lock" ] ||
        rustup toolchain install nightly --profile minimal --component rust-src ||
        echo "setup: without Rust's nightly the sanitizers are left out"
fi
