#!/usr/bin/env bash
# Runs norn under every MPI that mpis.sh can gather. libnorn and its plug-ins
# are built once; only the programs are compiled against each MPI.
#
#   run.sh BUILD PREFIX    the build tree of norn, and where it was installed
#
# ONLY=pattern runs the checks whose name matches; MPIS="openmpi4 mpich5" some
# of the MPIs; FULL=1 adds what needs gigabytes or minutes.
set -u
export LC_ALL=C
top=$(cd "$(dirname "$0")/../.." && pwd)
here=$top/tests/mpi
plugin=$top/src/lower/mpi/plugin
build=$(cd "${1:?build tree}" && pwd)
prefix=$(cd "${2:?installed tree}" && pwd)
mpis=$build/mpi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

libdir=$(dirname "$(find "$prefix" -name libnorn.so | head -n 1)")
strict="-Wall -Wextra -Wpedantic -Werror"
passed=0
failed=0

ok() { # NAME STATUS: one line; the last of the log only when it failed
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok $((passed + failed)) - $1"
    else
        failed=$((failed + 1))
        echo "not ok $((passed + failed)) - $1"
        tail -n 30 "$work/log" | sed 's/^/    /'
    fi
}

# check NAME COMMAND...: one check.
check() {
    local name=$1
    shift
    case $name in *${ONLY:-}*) ;; *) return 0 ;; esac
    (
        set -e -o pipefail
        "$@"
    ) >"$work/log" 2>&1 </dev/null
    ok "$name" $?
}

# each NAME COMMAND...: a program that prints an "ok" line for each of its own checks, which are counted.
each() {
    local name=$1 status line good bad
    shift
    case $name in *${ONLY:-}*) ;; *) return 0 ;; esac
    "$@" >"$work/log" 2>&1 </dev/null
    status=$?
    good=$(grep -c '^ok ' "$work/log")
    bad=$(grep -c '^not ok ' "$work/log")
    if [ "$status" -eq 0 ] && [ "$bad" -eq 0 ] && [ "$good" -gt 0 ]; then
        passed=$((passed + good))
        echo "ok ${passed} - $name ($good checks)"
        return
    fi
    [ "$bad" -gt 0 ] || bad=1
    passed=$((passed + good))
    failed=$((failed + bad))
    echo "not ok $((passed + failed)) - $name: status $status"
    grep -v '^ok ' "$work/log" | head -n 40 | sed 's/^/    /'
}

no() { ! grep "$@"; }
mpirun() { # MPI RANKS PROGRAM...
    local name=$1 ranks=$2
    shift 2
    timeout --kill-after 10 300 "$mpis/$name/mpirun" -n "$ranks" "$@"
}
# Handles of the standard ABI become integers by another call.
toint() { [ "$1" != abi ] || echo -DCONFORMANCE_TOINT; }
compile() { # MPI FAMILY PROGRAM SOURCE FLAGS...
    local name=$1 family=$2 program=$3 source=$4
    shift 4
    # shellcheck disable=SC2046,SC2086 # lists of flags
    "$mpis/$name/mpicc" -std=gnu11 -O1 -g $strict $(toint "$family") -I "$prefix/include" -I "$plugin" "$source" \
        -o "$program" "$@" -ldl
}
plugin_of() { echo "$work/lib/libnorn_mpi_$1.so"; }

# --- libnorn and the plug-ins, as a site would have them --------------------

mkdir lib
cp -a "$libdir"/libnorn.so* "$libdir"/libnorn_mpi_*.so lib/ 2>/dev/null
"$here/mpis.sh" "$mpis" >list || exit 1
[ -s list ] || { echo "mpi: 0 passed, 0 failed: no MPI can be had"; exit 0; }

by_hand() { # MPI FAMILY: as plugin.c says
    # shellcheck disable=SC2086 # a list of flags
    "$mpis/$1/mpicc" -c -std=gnu11 -O2 -fPIC -fvisibility=hidden $strict -I "$prefix/include" \
        "$prefix/share/norn/mpi_plugin/plugin.c" -o "by_hand_$1.o"
    cc -shared "by_hand_$1.o" -o "by_hand_$1.so"
    [ -e "$(plugin_of "$2")" ] || cp "by_hand_$1.so" "$(plugin_of "$2")"
}
links_no_mpi() { # MPI FAMILY
    readelf -dW "$(plugin_of "$2")" >dynamic
    no -E 'NEEDED.*(mpi|norn)|RPATH|RUNPATH|TEXTREL' dynamic
}
exports_one_name() { [ "$(nm -D --defined-only "$(plugin_of "$2")" | sed 's/.* //')" = norn_mpi_plugin ]; }
calls_no_pmpi() { nm -D --undefined-only "$(plugin_of "$2")" | no PMPI; }
header_compiles() { # MPI STANDARD LANGUAGE: the header alone, after and before mpi.h
    local order
    for order in '#include <norn_mpi.h>' '#include <mpi.h>
#include <norn_mpi.h>' '#include <norn.h>
#include <norn_mpi.h>'; do
        printf '%s\nint main(void) { return norn_type_of_mpi(MPI_INT) == norn_op_of_mpi(MPI_SUM); }\n' "$order" |
            "$mpis/$1/mpicc" -std="$2" -x "$3" -Wall -Wextra -Werror -Wno-cast-function-type -fsyntax-only \
                -I "$prefix/include" -
    done
}
profiled() { # MPI FAMILY: a profiler in front of MPI sees what the plug-in does
    "$mpis/$1/mpicc" -shared -fPIC "$here/profiler.c" -o "profiler_$1.so"
    LD_PRELOAD="$work/profiler_$1.so" mpirun "$1" 1 "./conformance_$1" "$(plugin_of "$2")" >profile
    grep -E '^profiler: [1-9][0-9]+ sends, [1-9][0-9]+ tests$' profile
}

while read -r name family; do
    case " ${MPIS:-$name} " in *" $name "*) ;; *) continue ;; esac
    check "$name: the plug-in compiles by hand" by_hand "$name" "$family"
    check "$name: its plug-in links no MPI" links_no_mpi "$name" "$family"
    check "$name: its plug-in exports one name" exports_one_name "$name" "$family"
    check "$name: its plug-in leaves MPI to profilers" calls_no_pmpi "$name" "$family"
    for standard in c99 c11; do check "$name: norn_mpi.h $standard" header_compiles "$name" $standard c; done
    check "$name: norn_mpi.h c++11" header_compiles "$name" c++11 c++
    check "$name: conformance compiles" compile "$name" "$family" "conformance_$name" "$here/conformance.c"
    [ -x "conformance_$name" ] || continue
    # Four ranks on two cores take their time: once for each family is enough.
    ranks_to_run="1 2"
    case $name in openmpi4 | mpich4 | mpich5-abi) ranks_to_run="1 2 4" ;; esac
    [ -z "${FULL:-}" ] || ranks_to_run="1 2 4"
    for ranks in $ranks_to_run; do
        each "$name: conformance, ranks: $ranks" env ${FULL:+CONFORMANCE_LARGE=1} \
            bash -c "$(declare -f mpirun); mpis='$mpis'; mpirun $name $ranks ./conformance_$name '$(plugin_of "$family")'"
    done
    check "$name: a profiler sees the calls" profiled "$name" "$family"
done <list

echo "mpi: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
