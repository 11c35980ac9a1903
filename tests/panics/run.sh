#!/usr/bin/env bash
# A panic forced inside every exported function and at every planted place (`plant!` in src), in several modes; what
# must hold then is in panics.c. Builds norn with --cfg norn_forced_panic; the shipped library has none of it.
#
#   run.sh BUILD LIBRARY [STANDIN]    where to build, the shipped libnorn.so, and the folder of a libcuda.so.1 without which
#                                     places that only device work comes to are left out
#
# ONLY=pattern runs the places whose name matches; ALL=1 runs every place in every mode, more often (minutes).
set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=$(mkdir -p "${1:?build folder}" && cd "$1" && pwd)
library=$(realpath "${2:?libnorn.so}")
driver=${3:-}
# What a defect leaves behind is kept on purpose: no leak.
[ -z "$driver" ] || export LD_LIBRARY_PATH="$driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" STANDIN_ALLOW=leak
unset NORN_MODE NORN_WORKERS
passed=0
failed=0

ok() { passed=$((passed + 1)); }
bad() { # what, then a log
    failed=$((failed + 1))
    echo "not ok - $1"
    if [ -n "${2:-}" ]; then grep -vE '^(stack backtrace| +[0-9]+:| +at |note:)' "$2" | tail -n 5 | sed 's/^/    /'; fi
}

cd "$top" || exit 1
# Optimisation would cost minutes and change nothing here.
CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=1 \
    cargo rustc --quiet --release --locked --lib --crate-type staticlib --target-dir "$build/cargo" -- --cfg norn_forced_panic || exit 1
cc -std=c11 -O1 -g -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -I include -I tests/c -o "$build/panics" \
    "$here/panics.c" "$build/cargo/release/libnorn.a" -lpthread -ldl -lm || exit 1

# The shipped library knows nothing of this.
if grep -aqE 'planted panic|plant_panic' "$library"; then bad "$library can be made to panic"; else ok; fi
# And the library for this test does, or the line above would mean nothing.
if grep -aq 'planted panic at' "$build/panics"; then ok; else bad "the text looked for is not the text"; fi

# A new function is called here too.
if diff <("$build/panics" list | sort) <(cut -d ' ' -f 1 tests/packaging/symbols.txt | sort); then ok; else
    bad "panics.c and tests/packaging/symbols.txt differ"
fi

# What an exception does, on the shipped library.
c++ -std=c++11 -O1 -Wall -Wextra -Wpedantic -Werror -I include -o "$build/exception" "$here/exception.cpp" "$library" || exit 1
if LD_LIBRARY_PATH=$(dirname "$library") "$build/exception" >"$build/log" 2>&1; then ok; else bad "exception.cpp" "$build/log"; fi

try() { # mode, workers, then the arguments: 0 the panic came, 3 it did not, else a failure
    local mode=$1 workers=$2 status
    shift 2
    NORN_MODE=$mode NORN_WORKERS=$workers RUST_BACKTRACE=0 "$build/panics" "$@" >"$build/log" 2>&1
    status=$?
    case $status in
        0 | 3) ok ;;
        *) bad "$mode with $workers workers: $* (exit status $status)" "$build/log" ;;
    esac
    return $status
}

modes="async:1 async:2 sync:0 async:0 shuffle.3:0"
others=(sync:0 async:0 shuffle.3:0)
turn=0
for function in $("$build/panics" list); do
    case $function in *${ONLY:-}*) ;; *) continue ;; esac
    for end in "" .end; do
        # With workers, and in turn without.
        these="async:2 ${others[turn++ % 3]}"
        [ -z "${ALL:-}" ] || these=$modes
        for mode in $these; do
            name=${mode%:*}
            try "${name/./:}" "${mode#*:}" function "$function$end"
            [ $? -ne 3 ] || bad "$function$end was not reached"
        done
    done
done
for point in $(grep -rhoE 'plant!\("[^"]+"\)' src | sed 's/.*"\(.*\)".*/\1/' | sort -u); do
    case $point in *${ONLY:-}*) ;; *) continue ;; esac
    case $point in enqueue.*) [ -n "$driver" ] || continue ;; esac
    reached=
    for mode in $modes; do
        name=${mode%:*}
        for nth in 1 ${ALL:+2} 5 ${ALL:+20}; do
            try "${name/./:}" "${mode#*:}" point "$point" $nth
            case $? in
                0) reached=yes ;;
                3) break ;; # nor will a later one be
            esac
        done
    done
    [ -n "$reached" ] || bad "the place $point was reached in no mode"
done
echo "panics: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
