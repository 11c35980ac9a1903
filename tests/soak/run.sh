#!/usr/bin/env bash
# Looks for rare failures for as long as it is given, and says what it covered: the coverage-guided fuzzer, the
# random graphs with fresh seeds, the misuse test, and the sanitizers with what `make check` leaves out.
#
#   run.sh PREFIX              PREFIX: where norn is installed
#
#   SECONDS_GIVEN=n            how long (make soak SECONDS=n; default 600)
#   SEED=n                     first seed of the random graphs (default: the time)
#   FULL=1                     also the C tests at their full sizes (10^7 tasks; an hour or more, not counted), and norn under
#                              each MPI with what takes minutes or gigabytes (edges over 2 GiB: 12 GiB of memory)
#
# Three eighths of the time are the fuzzer's, an eighth goes to its inputs and to random graphs with delayed threads, a quarter to
# random graphs on one rank and on several, a quarter to the sanitizers; building comes on top.
# What fails is kept and printed with the command that repeats it.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
prefix=${1:?PREFIX}
given=${SECONDS_GIVEN:-600}
seed=${SEED:-$(date +%s)}
out=$PWD/build/soak
corpus=$out/corpus
mkdir -p "$corpus" "$out/found"
unset MAKEFLAGS MFLAGS MAKELEVEL NORN_MODE NORN_WORKERS
# As tools/check.sh builds the Rust tests, which are then there already.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
export PATH=$PWD/.cache/tools/bin:$PATH

failed=
report() { # PART STATUS TEXT
    [ "$2" -eq 0 ] || failed="$failed $1"
    echo "soak: $1: $3" | tee -a "$out/summary"
}
: >"$out/summary"

misuse() {
    local status=0 variant runs=0
    cmake -S tests/c -B "$out/tests-c" -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" \
        -DNORN_TEST_TIMEOUT=7200 >"$out/tests-c.log" 2>&1 &&
        cmake --build "$out/tests-c" --parallel 2 >>"$out/tests-c.log" 2>&1 || { report misuse 1 "not built; $out/tests-c.log"; return; }
    for variant in async:0 async:1 async:2 async:8 sync:1 shuffle:1; do
        NORN_MODE=${variant%:*} NORN_WORKERS=${variant#*:} timeout 120 "$out/tests-c/abi.misuse" >>"$out/misuse.log" 2>&1 ||
            { status=1 && echo "misuse failed: NORN_MODE=${variant%:*} NORN_WORKERS=${variant#*:} $out/tests-c/abi.misuse"; }
        runs=$((runs + 1))
    done
    report misuse $status "every call wrongly, in $runs settings"
}

graphs() { # SECONDS: fresh seeds, in steps so that the time is kept
    local until=$((SECONDS + $1)) from=$seed step=500 status=0
    cargo test --release --locked --no-run --test random_graphs >"$out/graphs.log" 2>&1 ||
        { report graphs 1 "not built; $out/graphs.log"; return; }
    until=$((SECONDS + $1))
    while [ $SECONDS -lt $until ]; do
        NORN_TEST_FROM=$from NORN_TEST_GRAPHS=$step \
            cargo test --release --locked --test random_graphs -- --exact graphs_agree_with_the_oracle --nocapture \
            >"$out/graphs.log" 2>&1 || { status=1 && cp "$out/graphs.log" "$out/found/graphs-$from.log" && break; }
        from=$((from + step))
    done
    [ $status -eq 0 ] || grep -E 'repeat with|NORN_TEST_SEED' "$out/graphs.log"
    report graphs $status "seeds $seed to $((from - 1)): $((from - seed)) graphs, each in about five setups"
}

worlds() { # SECONDS: as graphs, over several ranks
    local until from=$seed step=50 status=0
    cargo test --release --locked --no-run --test random_worlds >"$out/worlds.log" 2>&1 ||
        { report worlds 1 "not built; $out/worlds.log"; return; }
    # A world of a thousand ranks, one to two minutes on two cores.
    timeout 600 cargo test --release --locked --test random_worlds -- --ignored --nocapture \
        >"$out/worlds.log" 2>&1 || { status=1 && cp "$out/worlds.log" "$out/found/worlds-thousand.log"; }
    # Five thousand worlds one after the other, some minutes.
    if [ -n "${FULL:-}" ]; then
        NORN_TEST_SOAK=1 CARGO_PROFILE_RELEASE_LTO=off timeout 1800 cargo test --release --locked --test worlds -- \
            detach_and_attach_again --nocapture >"$out/worlds.log" 2>&1 ||
            { status=1 && cp "$out/worlds.log" "$out/found/worlds-attached.log"; }
    fi
    until=$((SECONDS + $1))
    while [ $SECONDS -lt $until ]; do
        NORN_TEST_FROM=$from NORN_TEST_GRAPHS=$step \
            cargo test --release --locked --test random_worlds -- --nocapture \
            >"$out/worlds.log" 2>&1 || { status=1 && cp "$out/worlds.log" "$out/found/worlds-$from.log" && break; }
        from=$((from + step))
    done
    [ $status -eq 0 ] || grep -E '^seed|NORN_TEST_SEED' "$out/worlds.log" | tail -n 2
    report worlds $status "seeds $seed to $((from - 1)): $((from - seed)) graphs over several ranks, each in up to four ways"
}

fuzz() { # SECONDS
    local status runs cover features
    if ! rustup run nightly cargo --version >/dev/null 2>&1; then
        report fuzz 1 "left out: rustup toolchain install nightly --profile minimal"
        return
    fi
    command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --locked --root .cache/tools
    CARGO_TARGET_DIR=target/fuzz cargo run --manifest-path tests/fuzz/Cargo.toml --release --locked \
        --no-default-features --bin replay -- --corpus "$corpus" >"$out/fuzz.log" 2>&1 &&
        rustup run nightly cargo fuzz build --fuzz-dir tests/fuzz --target-dir target/cargo-fuzz calls >>"$out/fuzz.log" 2>&1 ||
        { report fuzz 1 "not built; $out/fuzz.log"; return; }
    # The whole graph of a leak is in the sanitizers' part; looking for it after each input costs most of the time.
    rustup run nightly cargo fuzz run --fuzz-dir tests/fuzz --target-dir target/cargo-fuzz calls "$corpus" -- \
        -max_total_time="$1" -max_len=4096 -detect_leaks=0 -print_final_stats=1 \
        -artifact_prefix="$out/found/" >>"$out/fuzz.log" 2>&1
    status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/fuzz.log" | tail -1)
    cover=$(grep -oE 'cov: [0-9]+' "$out/fuzz.log" | tail -1)
    features=$(grep -oE 'ft: [0-9]+' "$out/fuzz.log" | tail -1)
    if [ $status -ne 0 ]; then
        grep -a -m1 'norn fuzz:' "$out/fuzz.log"
        echo "repeat with: FUZZ_TRACE=1 target/cargo-fuzz/*/release/calls $(find "$out/found" -type f -newer "$out/summary" -name '*-*' | tail -1)"
    fi
    report fuzz $status "${runs:-some} sequences of calls; ${cover:-cov: ?} edges, ${features:-ft: ?} features, $(find "$corpus" -type f | wc -l) inputs kept"
}

# The same inputs without coverage, and random graphs, with threads that lose their cores where they wait or wake each other.
delays() { # SECONDS
    local until from=$seed step=500 status=0 programs=target/fuzz/release/replay
    CARGO_TARGET_DIR=target/fuzz cargo build \
        --manifest-path tests/fuzz/Cargo.toml --release --locked --no-default-features --bin replay >"$out/delays.log" 2>&1 &&
        cc -std=c11 -O2 -shared -fPIC tests/fuzz/delays.c -o "$out/delays.so" -ldl >>"$out/delays.log" 2>&1 &&
        programs="$programs $(cargo test --release --locked --no-run --test random_graphs \
            --test random_worlds 2>&1 | sed -n 's/^ *Executable .*(\(.*\))$/\1/p' | tr '\n' ' ')" ||
        { report delays 1 "not built; $out/delays.log"; return; }
    until=$((SECONDS + $1))
    while [ $SECONDS -lt $until ] && [ $status -eq 0 ]; do
        for program in $programs; do
            case $program in */replay) set -- --seeds "$from" $((from + step)) ;; *) set -- ;; esac
            FUZZ_TRACE=1 NORN_TEST_FROM=$from NORN_TEST_GRAPHS=50 DELAYS=$from LD_PRELOAD=$out/delays.so timeout 600 "$program" "$@" \
                >"$out/delays.log" 2>&1 || {
                status=1
                cp "$out/delays.log" "$out/found/delays-$from.log"
                echo "repeat with: NORN_TEST_FROM=$from NORN_TEST_GRAPHS=50 DELAYS=$from LD_PRELOAD=$out/delays.so $program $*"
                break
            }
        done
        from=$((from + step))
    done
    report delays $status "seeds $seed to $((from - 1)): inputs of the fuzzer, and of each 500 fifty graphs on one rank and on several"
}

sanitizers() { # SECONDS: rounds of all variants with fresh graphs
    local until=$((SECONDS + $1)) from=$seed rounds=0 status=0 reason
    reason=$(tests/sanitizers/run.sh --missing) || { report sanitizers 1 "left out: $reason"; return; }
    while :; do
        LONG=1 VARIANTS='async-[0-9]|sync|shuffle-1' GRAPHS=200 FROM=$from tests/sanitizers/run.sh "$out" >"$out/sanitizers.log" 2>&1 ||
            { status=1 && cp "$out/sanitizers/"*.log "$out/found/" && cat "$out/sanitizers.log" && break; }
        rounds=$((rounds + 1))
        from=$((from + 200))
        [ $SECONDS -lt $until ] || break
    done
    report sanitizers $status "$rounds rounds; $(tail -1 "$out/sanitizers.log")"
}

full_sizes() {
    NORN_SOAK=1 ctest --test-dir "$out/tests-c" --timeout 7200 >"$out/full-sizes.log" 2>&1
    report full-sizes $? "$(grep -E 'tests passed' "$out/full-sizes.log"); $out/full-sizes.log"
}

under_each_mpi() {
    FULL=1 tests/mpi/run.sh "$(dirname "$prefix")" "$prefix" >"$out/mpi.log" 2>&1
    report mpi $? "$(tail -n 1 "$out/mpi.log"); $out/mpi.log"
}

misuse
fuzz $((given * 3 / 8))
delays $((given / 8))
graphs $((given / 8))
worlds $((given / 8))
sanitizers $((given / 4))
if [ -n "${FULL:-}" ]; then
    full_sizes
    under_each_mpi
fi
echo "== soak of $given s"
cat "$out/summary"
[ -z "$failed" ] && echo "soak: nothing failed" || echo "soak: failed:$failed; see $out/found"
[ -z "$failed" ]
