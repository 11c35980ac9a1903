#!/usr/bin/env bash
# Everything that must hold before a change goes in. All steps run even when one
# fails, so that one run shows all there is; without a build the rest is pointless.
#
#   check.sh [BUILD]
set -u -o pipefail
cd "$(dirname "$0")/.." || exit 1
exec </dev/null
# A sub-make would otherwise ask for the job server of the make that called this.
unset MAKEFLAGS MFLAGS MAKELEVEL

build=${1:-build}
logs=$build/check
strict="-Wall -Wextra -Wpedantic -Werror"
mkdir -p "$logs"
rm -f "$logs"/*.log
passed=0
failed=0
failures=

# step NAME COMMAND...: runs it and adds what its output counts; a step whose
# output counts nothing is one check itself.
step() {
    local name=$1 log status good bad
    shift
    log=$logs/$name.log
    echo "== $name"
    "$@" 2>&1 | tee "$log"
    status=$?
    # Lines of cargo test, ctest, tests/docs, tests/models, tests/packaging, tests/panics and the like.
    read -r good bad < <(sed -n \
        -e 's/^test result: .*[^0-9]\([0-9][0-9]*\) passed; \([0-9][0-9]*\) failed.*/\1 \2/p' \
        -e 's/^[0-9]*% tests passed, \([0-9][0-9]*\) tests\{0,1\} failed out of \([0-9][0-9]*\)/\2 \1 of/p' \
        -e 's/^docs: \([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed/\1 \2/p' \
        -e 's/^models: \([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed/\1 \2/p' \
        -e 's/^sanitizers: \([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed/\1 \2/p' \
        -e 's/^fuzz: \([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed/\1 \2/p' \
        -e 's/^packaging: \([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed/\1 \2/p' \
        -e 's/^mpi: \([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed.*/\1 \2/p' \
        -e 's/^standin: \([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed/\1 \2/p' \
        -e 's/^panics: \([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed/\1 \2/p' "$log" |
        awk '{ good += $1 - ($3 == "of" ? $2 : 0); bad += $2 } END { print good + 0, bad + 0 }')
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1
    elif [ "$status" -eq 0 ] && [ $((good + bad)) -eq 0 ]; then
        good=1
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
    if [ "$status" -ne 0 ] || [ "$bad" -ne 0 ]; then
        failures="$failures $name"
        return 1
    fi
}

# Ends with what failed, by name, so that the end of a long output is enough to go by.
finish() {
    local name
    for name in $failures; do
        echo "== failed: $name ($logs/$name.log)"
        grep -E '^models: [^0-9]|FAILED|\*\*\*(Failed|Timeout|Exception|Not Run)|^not ok|panicked at|^error|failed: ' "$logs/$name.log" | tail -n 20
    done
    [ -z "$failures" ] || echo "failed:$failures"
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ -z "$failures" ]
    exit
}

# A project of its own, built against the installed copy, and its tests.
external() { # source, where to build, then options of CMake
    local source=$1 tree=$2
    shift 2
    # A project without C++ does not look at its flags; that is no news.
    cmake --no-warn-unused-cli -S "$source" -B "$tree" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_PREFIX_PATH="$PWD/$build/prefix" -DCMAKE_C_FLAGS="$strict" -DCMAKE_CXX_FLAGS="$strict" "$@" || return
    cmake --build "$tree" --parallel 2 || return
    (cd "$tree" && ctest --output-on-failure --parallel 2 --timeout 300)
}

# The driver without a device, on which the tests of devices run.
standin() {
    cmake -S tests/cuda/driver -B "$build/check/standin" || return
    cmake --build "$build/check/standin" --parallel 2 || return
    tests/cuda/driver/run.sh "$build/check/standin"
}

# The example that uses cuBLAS and cuSOLVER, on the driver and the libraries that the C tests have.
device_examples() {
    local mpirun=$build/check/examples/mpirun ranks=()
    [ ! -x "$mpirun" ] || ranks=(--mpirun "$PWD/$mpirun" device-used ranks-device)
    LD_LIBRARY_PATH=$PWD/$build/check/standin/lib:$PWD/$build/check/tests-c/providers${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
        python3 -B tests/examples/check_examples.py --programs "$PWD/$build/check/examples" "${ranks[@]:-device-used}"
}

# Link-time optimisation of each test program would cost minutes; the C tests
# run the library as it is shipped.
rust_tests() { CARGO_PROFILE_RELEASE_LTO=off cargo test --release --locked --no-fail-fast; }

# The language itself is beyond clippy's incompatible_msrv lint, so the oldest
# compiler that Cargo.toml promises has the last word where it is installed.
oldest=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
rustup run "$oldest" cargo --version >/dev/null 2>&1 || oldest=$oldest.0 # rustup knows it by either name
oldest_rust() { rustup run "$oldest" cargo check --locked --target-dir target/oldest; }

# Random inputs for the model of the fuzzer, which `make soak` drives by coverage; then again with threads that lose their
# cores where they wait or wake each other.
fuzz_inputs() {
    local log=$logs/delays.log
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_TARGET_DIR=target/fuzz \
        cargo build --manifest-path tests/fuzz/Cargo.toml --release --locked --no-default-features --bin replay || return
    target/fuzz/release/replay --seeds 0 2000 || return
    # shellcheck disable=SC2086 # a list of flags
    cc $strict -std=c11 -O2 -shared -fPIC tests/fuzz/delays.c -o "$build/check/delays.so" -ldl || return
    LD_PRELOAD=$PWD/$build/check/delays.so target/fuzz/release/replay --seeds 0 2000 2>"$log" || { cat "$log"; return 1; }
    grep '^delays: [1-9]' "$log" || { echo "fuzz: no thread was delayed"; return 1; }
}

step setup tools/setup.sh || finish
step format cargo fmt --check
step clippy cargo clippy --all-targets --locked -- -D warnings
step notice tools/notice.sh --check
step rust rust_tests
step models tests/models/run.sh
if rustup run "$oldest" cargo --version >/dev/null 2>&1; then
    step oldest-rust oldest_rust
else
    echo "== oldest-rust left out: rustup toolchain install $oldest --profile minimal"
fi
step build make installed BUILD="$build" || finish
step examples external examples-c "$build/check/examples"
step standin standin
step c-tests external tests/c "$build/check/tests-c" -DNORN_STANDIN="$PWD/$build/check/standin/lib"
step device-examples device_examples
step panics tests/panics/run.sh "$build/check/panics" "$build/libnorn.so" "$PWD/$build/check/standin/lib"
step cpp-tests external tests/cpp "$build/check/tests-cpp"
if command -v "${FC:-gfortran}" >/dev/null; then
    step examples-fortran external examples-fortran "$build/check/examples-fortran"
    step fortran-tests external tests/fortran "$build/check/tests-fortran" -DNORN_STANDIN="$PWD/$build/check/standin/lib"
else
    echo "== examples-fortran, fortran-tests left out: there is no Fortran compiler"
fi
step docs python3 -B tests/docs/check_docs.py --prefix "$build/prefix"
step fuzz fuzz_inputs
if reason=$(tests/sanitizers/run.sh --missing); then
    step sanitizers tests/sanitizers/run.sh "$build"
else
    echo "== sanitizers left out: $reason"
fi
step mpi tests/mpi/run.sh "$build" "$build/prefix"
step packaging tests/packaging/run.sh "$build" "$build/prefix"
finish
