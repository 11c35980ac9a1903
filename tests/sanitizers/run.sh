#!/usr/bin/env bash
# The Rust tests, those of several ranks too, and the C tests under AddressSanitizer with LeakSanitizer, and under
# ThreadSanitizer, both at the same time.
# Each sanitizer is first shown to be live by planted faults (planted.c, planted.rs) whose reports are demanded.
# Ends with "sanitizers: N passed, M failed".
#
#   run.sh [BUILD] [address] [thread]      both, if none is named
#   run.sh --missing                       says what is missing, and fails if something is
#
#   GRAPHS=n     random graphs under each (default 60; FROM=n is the first seed)
#   VARIANTS=re  the variants of the C tests (default async-2; "async-[0-9]|sync|shuffle-1" is all of them)
#
# What the defaults leave out, for time, is in `make soak`: more graphs, the other modes, and LONG below.
# Left out everywhere is what cannot be told under a sanitizer: OTHER below.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
here=tests/sanitizers

build=build
sanitizers=
only_ask=
for word in "$@"; do
    case $word in
    --missing) only_ask=1 ;;
    address | thread) sanitizers="$sanitizers $word" ;;
    *) build=$word ;;
    esac
done
sanitizers=${sanitizers:-address thread}
mkdir -p "$build/sanitizers"
build=$(cd "$build" && pwd)
graphs=${GRAPHS:-60}
from=${FROM:-0}
variants=${VARIANTS:-async-2}

# Their sizes are for norn's own speed: minutes under a sanitizer. LONG=1 runs them too.
long='runtime\.long_chain|runtime\.many_predecessors|failure\.long_propagation|threads\.idle_uses_no_cpu'
[ -z "${LONG:-}" ] || long=
# Three measure the memory of the process, most of which is then the sanitizer's. Sanitizers do not know a
# join of the main thread.
other='data\.flat_memory|data\.many_data|runtime\.open_close_many|exit\.pthread_exit_of_main'
# The leak check of a forked child misses the threads that hold what it looks for.
other_address='exit\.fork_child'
# The sanitizer has a thread of its own, which runs everywhere.
other_thread='threads\.affinity_mask'

fail() {
    echo "sanitizers: needs $1"
    exit 1
}
version=$(rustup run nightly rustc -vV 2>/dev/null) ||
    fail "Rust's nightly: rustup toolchain install nightly --profile minimal --component rust-src"
host=$(sed -n 's/^host: //p' <<<"$version")
sysroot=$(rustup run nightly rustc --print sysroot)
[ -e "$sysroot/lib/rustlib/src/rust/library/Cargo.lock" ] ||
    fail "the source of Rust's library: rustup component add rust-src --toolchain nightly"
runtime() { echo "$sysroot/lib/rustlib/$host/lib/librustc-nightly_rt.${1}san.a"; }
command -v clang >/dev/null || fail clang
command -v llvm-symbolizer >/dev/null || fail "llvm-symbolizer, for the names in reports"
[ -z "$only_ask" ] || exit 0

# One sanitizer: all that is printed goes to its log; the last line of FILE is "passed failed".
one() {
    local sanitizer=$1 tally=$2 short=${1:0:1} out=$build/sanitizers/$1 std=() skip
    export CARGO_TARGET_DIR=$PWD/target/$sanitizer
    export RUSTFLAGS="-Zsanitizer=$sanitizer -Cforce-frame-pointers=yes"
    # Less optimisation: building takes longer than running.
    export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=1
    export ASAN_OPTIONS=detect_leaks=1
    export LSAN_OPTIONS=suppressions=$PWD/$here/leak.supp:print_suppressions=0
    export TSAN_OPTIONS=suppressions=$PWD/$here/thread.supp
    unset NORN_MODE NORN_WORKERS
    # ThreadSanitizer must see the synchronisation inside Rust's own library.
    [ "$sanitizer" = address ] || std=(-Zbuild-std)
    cargo=(rustup run nightly cargo)
    release=$CARGO_TARGET_DIR/$host/release
    passed=0
    failed=0
    mkdir -p "$out"

    note() { # WHAT STATUS
        if [ "$2" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "sanitizers: $sanitizer: FAILED: $1"; fi
    }
    rust() { "${cargo[@]}" test "${std[@]}" --locked --release --target "$host" "$@"; }
    finish() { echo "$passed $failed" >"$tally"; }

    # The static library of the C tests is the one that the tests of several ranks have been linked with.
    rust --no-run && "${cargo[@]}" build "${std[@]}" --locked --release --target "$host" --lib &&
        clang -shared -o "$out/libnorn.so" -Wl,--whole-archive "$release/libnorn.a" -Wl,--no-whole-archive \
            -Wl,--gc-sections -Wl,--version-script=cmake/norn.map -lpthread -ldl -lm &&
        cmake -S $here -B "$out" -DCMAKE_C_COMPILER=clang -DNORN_SANITIZER="$sanitizer" \
            -DNORN_SANITIZER_RUNTIME="$(runtime "$short")" -DNORN_SANITIZED_LIBRARY="$out/libnorn.so" \
            -DNORN_TEST_TIMEOUT=300 &&
        cmake --build "$out" --parallel 2
    note build $?
    [ "$failed" -eq 0 ] || { finish && return; }

    # planted FAULT REPORT: a test that must end with this report.
    planted() {
        local log=$out/planted.$1.log
        rust --test planted_faults -- --ignored --exact "$1" >"$log" 2>&1
        # No pipe: grep may end before what feeds it, whose signal then counts as a failure.
        [ $? -ne 0 ] && grep -qE "$2" <<<"$(tr '\n' ' ' <"$log")"
        note "the planted fault $1 is found; see $log" $?
    }
    if [ "$sanitizer" = address ]; then
        planted a_body_overruns 'ERROR: AddressSanitizer: heap-buffer-overflow.*WRITE.* planted_faults::overruns '
        planted a_body_leaks 'ERROR: LeakSanitizer: detected memory leaks.*leak of 4321 byte.* planted_faults::leaks '
    else
        planted two_bodies_race 'WARNING: ThreadSanitizer: data race.* planted_faults::races .*Previous write.* planted_faults::races '
    fi

    tests() { # COMMAND...: counts what cargo test and ctest say
        local log=$out/tests.log good bad
        "$@" 2>&1 | tee "$log"
        local status=$?
        read -r good bad < <(sed -n \
            -e 's/^test result: .*[^0-9]\([0-9][0-9]*\) passed; \([0-9][0-9]*\) failed.*/\1 \2/p' \
            -e 's/^[0-9]*% tests passed, \([0-9][0-9]*\) tests\{0,1\} failed out of \([0-9][0-9]*\)/\2 \1 of/p' "$log" |
            awk '{ good += $1 - ($3 == "of" ? $2 : 0); bad += $2 } END { print good + 0, bad + 0 }')
        [ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
        passed=$((passed + good))
        failed=$((failed + bad))
        [ "$status" -eq 0 ] || echo "sanitizers: $sanitizer: FAILED: $*"
    }
    # It joins its own thread, which ThreadSanitizer's join does not survive.
    if [ "$sanitizer" = thread ]; then
        tests rust --lib -- --skip a_thread_cannot_join_itself
    else
        # A runtime in which a defect was caught is kept for good.
        tests rust --lib -- --skip a_panic_while_the_graph_changes
    fi
    NORN_TEST_FROM=$from NORN_TEST_GRAPHS=$graphs NORN_TEST_LONGEST=120 \
        tests rust --test random_graphs -- --exact graphs_agree_with_the_oracle
    tests rust --test worlds
    NORN_TEST_FROM=$from NORN_TEST_GRAPHS=$((graphs / 2)) tests rust --test random_worlds
    skip=other_$sanitizer
    tests ctest --test-dir "$out" --output-on-failure \
        -R "^[a-z]+\.[a-z_0-9-]+(\.($variants|parking))?$" \
        -E "^($other|${!skip}${long:+|$long})(\.|$)"
    finish
}

tallies=$(mktemp -d)
trap 'rm -rf "$tallies"' EXIT
for sanitizer in $sanitizers; do
    one "$sanitizer" "$tallies/$sanitizer" >"$build/sanitizers/$sanitizer.log" 2>&1 &
done
wait
passed=0
failed=0
for sanitizer in $sanitizers; do
    log=$build/sanitizers/$sanitizer.log
    read -r good bad <"$tallies/$sanitizer" || { good=0 bad=1; }
    echo "sanitizers: $sanitizer: $good passed, $bad failed; $log"
    [ "$bad" -eq 0 ] || grep -E 'FAILED|\*\*\*|ERROR: |WARNING: Thread|SUMMARY: |^test .* FAILED|^error' "$log"
    passed=$((passed + good))
    failed=$((failed + bad))
done
echo "sanitizers: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
