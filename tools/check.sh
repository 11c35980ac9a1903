#!/usr/bin/env bash
# Everything that must hold before a change goes in. All steps run even when one
# fails, so that one run shows all there is; without a build the rest is pointless.
# Two steps are under way at any time, since most leave one of two cores idle for
# long. What they print comes whole and in the order of the list at the end.
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
rm -f "$logs"/*.log "$logs"/*.status "$logs"/*.times
at_once=2
names=()          # the steps that have begun, in their order
declare -A process
shown=0           # of them, those whose output is all out
printed=          # bytes of the next one's that are; nothing before its first
passed=0
failed=0
failures=
left_out=()       # what cannot be run here, and what it takes
trap 'for group in "${process[@]}"; do kill -TERM -- "-$group" 2>/dev/null; done; exit 130' INT TERM

# step NAME COMMAND...: begins it, when fewer than two steps are under way.
step() {
    local name=$1
    shift
    until [ "$(under_way)" -lt "$at_once" ]; do look; done
    : >"$logs/$name.log"
    # In a process group of its own, so that an interrupt ends all of it.
    set -m
    perform "$name" "$@" &
    set +m
    process[$name]=$!
    names+=("$name")
}
perform() { # NAME COMMAND...
    local name=$1 TIMEFORMAT='%R s, %U s user, %S s system'
    shift
    { time "$@" >"$logs/$name.log" 2>&1; } 2>"$logs/$name.times"
    echo $? >"$logs/$name.status"
}

# Whether a step has ended; its exit status is then in `status`.
ended() {
    read -r status 2>/dev/null <"$logs/$1.status" && return
    ! kill -0 "${process[$1]}" 2>/dev/null || return 1
    # Between the two looks, or it was killed.
    read -r status 2>/dev/null <"$logs/$1.status" || status=137
}
under_way() {
    local name status count=0
    for name in "${names[@]}"; do ended "$name" || count=$((count + 1)); done
    echo "$count"
}

# await NAME...: until these steps have ended; whether all went well.
await() {
    local name status all=0
    for name in "$@"; do
        until ended "$name"; do look; done
        [ "$status" -eq 0 ] || all=1
    done
    return "$all"
}

# Prints what the step whose turn it is has printed since the last look, or waits a moment if that is nothing.
look() {
    local name=${names[shown]:-} log status over= size
    [ -n "$name" ] || { sleep 0.5 && return; }
    log=$logs/$name.log
    [ -n "$printed" ] || { echo "== $name" && printed=0; }
    ! ended "$name" || over=yes
    size=$(stat -c %s "$log")
    if [ "$size" -gt "$printed" ]; then
        tail -c "+$((printed + 1))" "$log" | head -c "$((size - printed))"
        printed=$size
    elif [ -z "$over" ]; then
        sleep 0.5
    fi
    [ -n "$over" ] || return 0
    echo "-- $name: $(tail -n 1 "$logs/$name.times")"
    count "$name" "$status"
    shown=$((shown + 1))
    printed=
}

# count NAME STATUS: adds what the output of a step counts; a step whose output counts nothing is one check itself.
count() {
    local name=$1 status=$2 log=$logs/$1.log good bad
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
    fi
}

# Ends with what failed, by name, so that the end of a long output is enough to go by.
finish() {
    local name
    while [ "$shown" -lt "${#names[@]}" ]; do look; done
    [ "${#left_out[@]}" -eq 0 ] || printf '== %s\n' "${left_out[@]}"
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

# Link-time optimisation of each test program would cost minutes, and one unit
# of code per crate keeps one core busy only; the C tests run the library as it
# is shipped.
rust_tests() { CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 cargo test --release --locked --no-fail-fast; }

# The language itself is beyond clippy's incompatible_msrv lint, so the oldest
# compiler that Cargo.toml promises has the last word where it is installed.
promised=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
oldest=$promised
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

step setup tools/setup.sh
await setup || finish
fortran=$(command -v "${FC:-gfortran}")
rustup run "$oldest" cargo --version >/dev/null 2>&1 || oldest=
no_sanitizers=$(tests/sanitizers/run.sh --missing) && no_sanitizers=
[ -n "$fortran" ] || left_out+=("examples-fortran, fortran-tests left out: there is no Fortran compiler")
[ -n "$oldest" ] || left_out+=("oldest-rust left out: rustup toolchain install $promised --profile minimal")
[ -z "$no_sanitizers" ] || left_out+=("sanitizers left out: $no_sanitizers")

step format cargo fmt --check
step notice tools/notice.sh --check
step clippy cargo clippy --all-targets --locked -- -D warnings
step build make installed BUILD="$build"
step rust rust_tests
await build || finish
step standin standin
step examples external examples-c "$build/check/examples"
step models tests/models/run.sh
await standin
step mpi tests/mpi/run.sh "$build" "$build/prefix"
step panics tests/panics/run.sh "$build/check/panics" "$build/libnorn.so" "$PWD/$build/check/standin/lib"
# Beside another step a test may take longer before it counts as hanging.
step c-tests external tests/c "$build/check/tests-c" -DNORN_STANDIN="$PWD/$build/check/standin/lib" -DNORN_TEST_TIMEOUT=120
[ -n "$no_sanitizers" ] || step sanitizers tests/sanitizers/run.sh "$build"
step packaging tests/packaging/run.sh "$build" "$build/prefix"
step fuzz fuzz_inputs
step cpp-tests external tests/cpp "$build/check/tests-cpp"
if [ -n "$fortran" ]; then
    step examples-fortran external examples-fortran "$build/check/examples-fortran"
    step fortran-tests external tests/fortran "$build/check/tests-fortran" -DNORN_STANDIN="$PWD/$build/check/standin/lib" -DNORN_TEST_TIMEOUT=120
fi
step docs python3 -B tests/docs/check_docs.py --prefix "$build/prefix"
[ -z "$oldest" ] || step oldest-rust oldest_rust
await examples c-tests
step device-examples device_examples
finish
