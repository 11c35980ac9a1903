#!/usr/bin/env bash
# Runs norn under every MPI that mpis.sh can gather. libnorn and its plug-ins
# are built once; only the programs are compiled against each MPI.
#
#   run.sh BUILD PREFIX    the build tree of norn, and where it was installed
#
# ONLY=pattern runs the checks whose name matches, and what they need; MPIS="openmpi4 mpich5" some
# of the MPIs; FULL=1 adds what needs gigabytes or minutes. LIMIT (150, with FULL 900) is what a program may take, in
# seconds: it is ended then with all its ranks, and the rest of its MPI is left out, so that nothing hangs for long.
set -u
export LC_ALL=C
top=$(cd "$(dirname "$0")/../.." && pwd)
here=$top/tests/mpi
plugin=$top/src/lower/mpi/plugin
build=$(cd "${1:?build tree}" && pwd)
prefix=$(cd "${2:?installed tree}" && pwd)
mpis=$build/mpi
limit=${LIMIT:-$([ -n "${FULL:-}" ] && echo 900 || echo 150)}
work=$(mktemp -d)
# Ranks outlive a launcher that was killed: those that are left are the processes whose program is in our own folder.
end_ranks() {
    local process
    for process in /proc/[0-9]*; do
        case $(readlink "$process/exe" 2>/dev/null) in "$work"/*) kill -KILL "${process#/proc/}" 2>/dev/null ;; esac
    done
}
trap 'end_ranks; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 1

libdir=$(dirname "$(find "$prefix" -name libnorn.so | head -n 1)")
strict="-Wall -Wextra -Wpedantic -Werror"
passed=0
failed=0
late= # an MPI whose program did not end

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

# Whether a check is to run.
wanted() {
    case $1 in *compile* | *${ONLY:-}*) ;; *) return 1 ;; esac
    case $1 in "${late:-none}: "*) return 1 ;; esac
}

# After a program that was ended because it took too long.
over_time() { # NAME OF THE CHECK
    [ -e late ] || return 0
    rm -f late
    end_ranks
    late=${1%%: *}
    echo "not done after $limit s: the rest of $late is left out"
}

# check NAME COMMAND...: one check.
check() {
    local name=$1
    shift
    wanted "$name" || return 0
    (
        set -e -o pipefail
        "$@"
    ) >"$work/log" 2>&1 </dev/null
    ok "$name" $?
    over_time "$name"
}

# each NAME COMMAND...: a program that prints an "ok" line for each of its own checks, which are counted.
each() {
    local name=$1 status good bad
    shift
    wanted "$name" || return 0
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
    over_time "$name"
}

no() { ! grep "$@"; }
in_time() { # PROGRAM...
    local status=0
    timeout --kill-after 10 "$limit" "$@" || status=$?
    case $status in 124 | 137) touch "$work/late" ;; esac
    return "$status"
}
mpirun() { # MPI RANKS PROGRAM...
    local name=$1 ranks=$2
    shift 2
    in_time "$mpis/$name/mpirun" -n "$ranks" "$@"
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

# --- attaching, and what is said when it cannot be -------------------------

norn="-L $work/lib -Wl,-rpath,$work/lib -lnorn"
attaching() { # MPI FAMILY: the programs
    # shellcheck disable=SC2086 # a list of flags
    compile "$1" "$2" "attach_$1" "$here/attach.c" $norn
    # shellcheck disable=SC2086
    compile "$1" "$2" "module_$1.so" "$here/module.c" -shared -fPIC $norn
    # shellcheck disable=SC2086
    compile "$1" "$2" "registered_$1" "$here/attach.c" -DREGISTERED "$plugin/plugin.c" $norn
}
edging() { # MPI FAMILY: the programs
    # shellcheck disable=SC2086 # lists of flags
    compile "$1" "$2" "edges_$1" "$here/edges.c" $norn
    # shellcheck disable=SC2086
    compile "$1" "$2" "finalized_$1" "$here/finalized.c" $norn
    # shellcheck disable=SC2086 # a list of flags
    compile "$1" "$2" "bad_handles_$1" "$here/bad_handles.c" $norn
    # shellcheck disable=SC2086
    compile "$1" "$2" "unguarded_$1" "$here/unguarded.c" $norn
    # shellcheck disable=SC2086
    compile "$1" "$2" "differ_$1" "$here/differ.c" $norn
}
standing_in_front() { # MPI FAMILY: the program, whose own functions the plug-in is to find
    # shellcheck disable=SC2086 # a list of flags
    compile "$1" "$2" "alone_$1" "$here/alone.c" $norn -pthread -rdynamic
}
alone() { # MPI RANKS
    mpirun "$1" "$2" "./alone_$1" "$([ -n "${FULL:-}" ] && echo 500 || echo 20)" >alone.log 2>&1 || { cat alone.log; return 1; }
    grep -E "^alone: ($2 ranks, [0-9]+ rounds: ok|left out, .*)$" alone.log
}
many_ranks() { # MPI FAMILY: the programs
    local program
    for program in random one_rank_down early many two_waiters attached knot rows_and_columns; do
        # shellcheck disable=SC2086 # a list of flags
        compile "$1" "$2" "${program}_$1" "$here/$program.c" $norn -pthread
    done
}
goes_down() { # MPI fails|killed|aborts: the job ends, and not well. The launcher's own status may look like one of timeout's
    local status=0
    # shellcheck disable=SC2016 # for the inner shell
    in_time sh -c '"$@" || exit 1' sh "$mpis/$1/mpirun" -n 4 "./one_rank_down_$1" "$2" >down.log 2>&1 || status=$?
    cat down.log
    [ "$status" -eq 1 ]
    no 'has seen no failure' down.log
    if [ "$2" = fails ]; then [ "$(grep -c 'has seen it' down.log)" -eq 4 ]; else no 'has seen it' down.log; fi
    if [ "$2" = aborts ]; then grep 'calls MPI_Abort' down.log; fi
}
in_fortran() { # MPI: the module compiled by this MPI's compiler, and a program that uses it
    local file folder=$work/fortran_$1
    mkdir -p "$folder"
    cd "$folder"
    for file in norn_c norn_failure_policy norn_memory_of norn_accesses norn_contained norn_data_calls norn_array_calls \
        norn_task_calls norn_token_calls norn_runtime_calls norn_operation_how norn_world_calls norn_device_calls norn; do
        "$mpis/$1/mpifort" -std=f2018 -O1 -c "$top/bindings/fortran/$file.f90"
    done
    # shellcheck disable=SC2086 # a list of flags
    "$mpis/$1/mpifort" -std=f2018 -O1 "$here/ring.f90" ./*.o -o ring $norn
    mpirun "$1" 2 ./ring
}
one() { # MPI WHEN STATUS TEXT...: one rank, as its launcher starts it
    local name=$1
    shift
    mpirun "$name" 1 "./attach_$name" "$@"
}
without_plugins() { # a libnorn with no plug-in beside it, nor on the library path
    mkdir -p bare
    cp -a lib/libnorn.so* bare/
    LD_LIBRARY_PATH=$work/bare "$@"
}
other_family() { if [ "$1" = openmpi ]; then echo mpich; else echo openmpi; fi; }
odd_plugin() { # FILE VERSION FAMILY
    # shellcheck disable=SC2086 # a list of flags
    cc $strict -shared -fPIC -I "$plugin" -DVERSION="$2" -DFAMILY="\"$3\"" "$here/odd_plugin.c" -o "$1"
}
of_another_version() {
    odd_plugin odd_version.so 99 "$2"
    NORN_MPI_PLUGIN=$work/odd_version.so one "$1" active NORN_E_VERSION odd_version.so 'version 99'
}
of_another_family() {
    odd_plugin odd_family.so 1 nonesuch
    NORN_MPI_PLUGIN=$work/odd_family.so one "$1" active NORN_E_UNSUPPORTED odd_family.so '"nonesuch"' "\"$2\""
}
no_plugin_at_all() {
    NORN_MPI_PLUGIN=$work/lib/libnorn.so one "$1" active NORN_E_UNSUPPORTED libnorn.so 'no MPI plug-in of norn'
    NORN_MPI_PLUGIN=$work/nowhere.so one "$1" active NORN_E_UNSUPPORTED "NORN_MPI_PLUGIN=$work/nowhere.so"
}
wrong_launcher() { # the launcher of the other family starts two singletons: both say so
    local other
    other=$(awk -v family="$(other_family "$2")" '$2 == family { print $1; exit }' "$work/list")
    # MPICH 5 ends by itself where it sees Open MPI's launcher; srun's kind it does not know.
    case $1 in mpich5*) other= ;; esac
    if [ -n "$other" ]; then
        mpirun "$other" 2 "./attach_$1" active NORN_E_UNSUPPORTED 'has started 2 processes' 'sees one'
    else
        SLURM_STEP_NUM_TASKS=2 in_time "./attach_$1" active NORN_E_UNSUPPORTED 'has started 2 processes' 'sees one'
    fi
}

if grep -q norn_world_attach_f "$prefix/include/norn.h"; then
    # shellcheck disable=SC2086 # lists of flags
    check "a program without MPI compiles" cc -std=gnu11 $strict -I "$prefix/include" "$here/private.c" -o private $norn -ldl
    check "without any MPI: attach says so" in_time ./private NORN_E_UNSUPPORTED 'no MPI is loaded'
else
    echo "this norn has no worlds: attaching is not tested"
fi
conformance() { # MPI RANKS PLUGIN
    CONFORMANCE_LARGE=${FULL:-} mpirun "$1" "$2" "./conformance_$1" "$3"
}
large_compile() { # MPI FAMILY
    # shellcheck disable=SC2086 # a list of flags
    compile "$1" "$2" "large_$1" "$here/large.c" $norn
}
# On the stand-in driver, where check.sh has built it.
standin=$build/check/standin/lib
device_edges() { # MPI FAMILY RANKS
    # shellcheck disable=SC2086 # a list of flags
    compile "$1" "$2" "device_edges_$1" "$here/device_edges.c" $norn
    # shellcheck disable=SC2086 # nothing, or two words
    LD_LIBRARY_PATH=$standin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} mpirun "$1" "$3" "./device_edges_$1" \
        "$top/tests/cuda/kernels.ptx" ${FULL:+20000 200} >device_edges.log 2>&1 || { cat device_edges.log; return 1; }
    grep -q "^device edges: right on $3 ranks$" device_edges.log
}
device_edges_by_mpi() { # MPI RANKS: the program of the check before, under an MPI that takes device memory
    "$mpis/$1/mpicc" -std=c11 $strict -O2 -shared -fPIC "$here/takes_devices.c" -o "takes_devices_$1.so" -ldl
    # shellcheck disable=SC2086 # nothing, or two words
    LD_PRELOAD="$work/takes_devices_$1.so" LD_LIBRARY_PATH=$standin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} mpirun "$1" "$2" \
        "./device_edges_$1" "$top/tests/cuda/kernels.ptx" ${FULL:+20000 200} >device_edges.log 2>&1 || { cat device_edges.log; return 1; }
    grep -q "^device edges, by MPI itself: right on $2 ranks$" device_edges.log
}
edges() { # MPI RANKS LEVEL
    mpirun "$1" "$2" "./edges_$1" "$3" >edges.log 2>&1 || { cat edges.log; return 1; }
    cat edges.log
    grep -q "^edges: $2 ranks, level $3: ok$" edges.log
}
handles_compile() { # MPI: the program of each Fortran interface; an MPI without one is left out
    cc -c $strict -I "$prefix/include" "$here/rank_and_size.c"
    local flavour
    for flavour in 1 2 3; do
        # shellcheck disable=SC2086 # a list of flags
        "$mpis/$1/mpifort" -cpp -DFLAVOUR=$flavour "$here/handles.f90" rank_and_size.o -o "handles_$1_$flavour" $norn
    done
}
rust_plugin() { # FAMILY: built once into the build folder
    has_libclang || return 1
    # What does not depend on the MPI is built for the first family only. mpi-sys would not notice that the MPI is another.
    local other
    other=$mpis/norn-mpi-$(other_family "$1")
    if [ ! -d "$mpis/norn-mpi-$1" ] && [ -d "$other" ]; then
        cp -a "$other" "$mpis/norn-mpi-$1"
        cargo clean --quiet --release --manifest-path "$plugin/crate/Cargo.toml" --target-dir "$mpis/norn-mpi-$1" \
            --package mpi-sys --package norn-mpi
    fi
    "$plugin/crate/build.sh" "$mpis/${1}4/mpicc" "$work/rust_$1.so" "$mpis/norn-mpi-$1"
    readelf -dW "rust_$1.so" | no -E 'NEEDED.*(mpi|norn)'
    [ "$(nm -D --defined-only "rust_$1.so" | sed 's/.* //')" = norn_mpi_plugin ]
    nm -D --undefined-only "rust_$1.so" | no PMPI
}
has_libclang() { [ -n "${LIBCLANG_PATH:-}" ] || [[ $(ldconfig -p) == *libclang* ]] || ls /usr/lib/llvm*/lib/libclang*.so* >/dev/null 2>&1; }

while read -r name family; do
    case " ${MPIS:-$name} " in *" $name "*) ;; *) continue ;; esac
    check "$name: the plug-in compiles by hand" by_hand "$name" "$family"
    check "$name: its plug-in links no MPI" links_no_mpi "$name" "$family"
    check "$name: its plug-in exports one name" exports_one_name "$name" "$family"
    check "$name: its plug-in leaves MPI to profilers" calls_no_pmpi "$name" "$family"
    for standard in c99 c11; do check "$name: norn_mpi.h $standard" header_compiles "$name" $standard c; done
    check "$name: norn_mpi.h c++11" header_compiles "$name" c++11 c++
    check "$name: conformance compiles" compile "$name" "$family" "conformance_$name" \
        "$here"/conformance/*.c
    [ -x "conformance_$name" ] || continue
    # Four ranks on two cores take their time, half a minute under MPICH.
    ranks_to_run="1 2"
    [ "$name" != openmpi4 ] && [ -z "${FULL:-}" ] || ranks_to_run="1 2 4"
    for ranks in $ranks_to_run; do
        each "$name: conformance, ranks: $ranks" conformance "$name" "$ranks" "$(plugin_of "$family")"
    done
    check "$name: a profiler sees the calls" profiled "$name" "$family"
    # The plug-in over mpi-sys, which does not read the header of the standard ABI; it also serves the newer MPI.
    if [ "$name" = "${family}4" ] && has_libclang; then
        check "$name: the plug-in in Rust compiles" rust_plugin "$family"
    fi
    if [ -e "rust_$family.so" ]; then
        each "$name: conformance of the plug-in in Rust" conformance "$name" 2 "$work/rust_$family.so"
    fi

    grep -q norn_world_attach_f "$prefix/include/norn.h" || continue
    check "$name: programs that attach compile" attaching "$name" "$family"
    [ -x "attach_$name" ] || continue
    check "$name: attach before MPI_Init" one "$name" before NORN_E_STATE 'call MPI_Init'
    check "$name: attach after MPI_Finalize" one "$name" after NORN_E_STATE 'has been finalised'
    check "$name: attach, the plug-in beside libnorn" one "$name" active NORN_OK
    check "$name: attach, two ranks" mpirun "$name" 2 "./attach_$name" active NORN_OK
    check "$name: attach without a launcher" in_time "./attach_$name" active NORN_OK
    check "$name: attach, the plug-in named" without_plugins in_time env NORN_MPI_PLUGIN="$(plugin_of "$family")" \
        "./attach_$name" active NORN_OK
    check "$name: attach, the plug-in linked in" without_plugins in_time "./registered_$name" active NORN_OK
    check "$name: attach, an MPI that a module brought in" in_time ./private "./module_$name.so"
    check "$name: no plug-in for it" without_plugins in_time "./attach_$name" active NORN_E_UNSUPPORTED \
        "libnorn_mpi_$family.so" "$work/bare/" NORN_MPI_PLUGIN
    check "$name: a plug-in of another version" of_another_version "$name" "$family"
    check "$name: a plug-in of another family" of_another_family "$name" "$family"
    check "$name: a file that is no plug-in" no_plugin_at_all "$name" "$family"
    if [ -x "$mpis/$name/mpifort" ]; then
        check "$name: Fortran programs compile" handles_compile "$name"
        for flavour in 1 2 3; do
            check "$name: a handle from Fortran, $(echo mpi mpi_f08 mpif.h | cut -d ' ' -f $flavour)" \
                mpirun "$name" 3 "./handles_${name}_$flavour"
        done
    fi
    check "$name: started by the launcher of another MPI" wrong_launcher "$name" "$family"

    check "$name: programs with edges compile" edging "$name" "$family"
    [ -x "edges_$name" ] || continue
    for level in 0 1 2 3; do check "$name: edges between 2 ranks, thread level $level" edges "$name" 2 $level; done
    check "$name: edges within one rank" edges "$name" 1 3
    check "$name: edges within one rank, without a launcher" in_time "./edges_$name" 3
    check "$name: edges between 4 ranks" edges "$name" 4 3
    check "$name: the program in front of MPI compiles" standing_in_front "$name" "$family"
    for ranks in 2 4; do check "$name: alone in MPI after a flush, ranks: $ranks" alone "$name" $ranks; done
    if [ -d "$standin" ]; then
        check "$name: edges from device memory, staged" device_edges "$name" "$family" 2
        check "$name: edges from device memory, by MPI itself" device_edges_by_mpi "$name" 2
    fi
    if [ -x "$mpis/$name/mpifort" ]; then check "$name: edges from Fortran" in_fortran "$name"; fi
    if [ -n "${FULL:-}" ]; then
        check "$name: the large edges compile" large_compile "$name" "$family"
        check "$name: edges over 2 GiB" mpirun "$name" 2 "./large_$name"
        case $name in
        mpich4) echo "a broadcast over 2 GiB is left out under $name: MPI_Ibcast of MPICH 4.0 fails" ;;
        *) check "$name: a broadcast over 2 GiB" mpirun "$name" 2 "./large_$name" broadcast ;;
        esac
    fi
    check "$name: programs of random graphs and of ranks in trouble compile" many_ranks "$name" "$family"
    # Many graphs under the distribution's MPIs, some under the others.
    case $name in *4) few=4 && ranks_to_run="2 3 4 5 6" ;; *) few=2 && ranks_to_run="2 4" ;; esac
    for ranks in $ranks_to_run; do
        seeds=$([ -n "${FULL:-}" ] && echo 300 || echo $few)
        check "$name: random graphs on $ranks ranks" mpirun "$name" "$ranks" "./random_$name" "${ranks}000" "$seeds" disturbed
    done
    check "$name: messages before their receives" mpirun "$name" 2 "./early_$name" "$([ -n "${FULL:-}" ] && echo 2000 || echo 300)"
    check "$name: many receives, the last message first" mpirun "$name" 2 "./many_$name" "$([ -n "${FULL:-}" ] && echo 30000 || echo 5000)"
    check "$name: closing ranks that wait for each other" mpirun "$name" 4 "./knot_$name"
    check "$name: ranks that wait for each other across several worlds" mpirun "$name" 4 "./rows_and_columns_$name"
    check "$name: two threads at one receive" mpirun "$name" 2 "./two_waiters_$name" "$([ -n "${FULL:-}" ] && echo 100000 || echo 10000)"
    # Each round takes two dozen communicators. MPICH has some two thousand, by its standard ABI the same ones; where there
    # is no such end, what is counted after the first ten rounds has grown after a few more.
    case $name in mpich4 | mpich5) rounds=100 ;; *) rounds=15 ;; esac
    check "$name: worlds attached again and again" mpirun "$name" 2 "./attached_$name" "$([ -n "${FULL:-}" ] && echo 5000 || echo $rounds)"
    for why in fails killed aborts; do check "$name: one rank of four goes down, $why" goes_down "$name" "$why"; done
    for why in fails leaves; do
        check "$name: a collective without an agreement, one rank $why" mpirun "$name" 3 "./unguarded_$name" $why
    done
    check "$name: collectives that the ranks declare differently" mpirun "$name" 3 "./differ_$name"
    for ranks in 1 3; do
        check "$name: bad handles are refused, ranks: $ranks" mpirun "$name" $ranks "./bad_handles_$name"
    done
    for when in idle pending busy; do
        # MPICH's locks are gone before norn is told; without locks, as below MPI_THREAD_MULTIPLE, none is left taken.
        level=3
        case $when-$family in idle-* | *-openmpi) ;; *) level=2 ;; esac
        check "$name: MPI_Finalize too early, $when" mpirun "$name" 2 "./finalized_$name" $when $level
    done
done <list

echo "mpi: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
