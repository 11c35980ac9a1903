#!/bin/sh
# Runs the programs in turn and writes one JSON line a process to OUT/raw.jsonl.
#
#   run.sh BIN OUT [STAGE...]
#
# STAGE: table metg cholesky held tasks accesses idle wake (default: all).
# From the environment: WORKERS ("1 2"), ROUNDS (3), REPEATS (7), NTASKS (65536),
# LIMIT (60 s a process), BUDGET (s in all, after which nothing more is started; 0: none),
# PROGRAMS. QUICK=1: one round, fewer repetitions, tasks and points.
#
# Rounds are interleaved: each round runs every program once, and the report takes the
# median over the rounds, because one process may be unlucky with its memory or neighbours.
# It needs a POSIX shell, timeout and the programs; nothing else.
set -eu
bin=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
shift 2
stages=${*:-table metg cholesky held tasks accesses idle wake}
quick=${QUICK:-}
if [ -n "$quick" ] && [ "$quick" != 0 ]; then
    : "${ROUNDS:=1}" "${REPEATS:=3}" "${NTASKS:=16384}" "${LIMIT:=8}" "${BUDGET:=125}"
    sizes="1000 10000 100000 1000000" counts="0 1 4 16 64" matrix=2048 seconds=1 wakes=50
else
    quick=
    sizes="1000 10000 100000 1000000 10000000" counts="0 1 2 4 8 16 32 64" matrix=4096 seconds=3 wakes=200
fi
workers=${WORKERS:-1 2} rounds=${ROUNDS:-3} repeats=${REPEATS:-7} ntasks=${NTASKS:-65536} limit=${LIMIT:-60} budget=${BUDGET:-0}
programs=${PROGRAMS:-floor norn omp_gcc omp_clang starpu tbb_task_group tbb_flow tbb_flow_rerun}
raw=$out/raw.jsonl
begin=$(date +%s)
given_up=

# No program may take the machine down with what it allocates.
memory=$(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo)
ulimit -v $((memory / 4 * 3)) 2>/dev/null || true

# attempt PROGRAM ARGUMENT...: one process. What does not finish is not tried again in a later round.
attempt() {
    key="<$(echo "$*" | tr ' ' '+')>"
    [ -x "$bin/$1" ] || return 1
    case $given_up in *"$key"*) return 1 ;; esac
    if [ "$budget" -gt 0 ] && [ $(($(date +%s) - begin)) -ge "$budget" ]; then
        late=1
        return 1
    fi
    program=$1
    shift
    status=0
    timeout "$limit" "$bin/$program" "$@" >"$out/line" 2>"$out/errors" || status=$?
    case $status in
    0) cat "$out/line" >>"$raw" ;;
    3) given_up="$given_up $key" ;; # not expressed there
    *)
        given_up="$given_up $key"
        why=$(head -n 1 "$out/errors" | tr -d '"\\' | cut -c 1-120)
        case $status in 124 | 143) why="not done after $limit s" ;; esac
        echo "bench: $program $*: ${why:-ended by signal or status $status}" >&2
        printf '{"program":"%s","measure":"failed","arguments":"%s","why":"%s"}\n' "$program" "$*" "${why:-status $status}" >>"$raw"
        ;;
    esac
    return "$status"
}
late=

# grow PROGRAM LIST ARGUMENT...: @ in the arguments stands for each of the list in turn, until one does not finish.
grow() {
    of=$1 list=$2
    shift 2
    for size in $list; do
        times=$repeats
        [ "$size" -lt 100000 ] || times=1
        # shellcheck disable=SC2046 # words
        attempt "$of" $(echo "$*" | sed "s/@/$size/g") repeats=$times || return 0
    done
}

say() { echo "bench: $* ($(($(date +%s) - begin)) s)" >&2; }

stage_table() {
    for w in $workers; do
        for pattern in independent chain stencil wavefront fanout; do
            for program in $programs; do
                n=$ntasks
                case $program.$pattern in
                # libgomp's cost grows with the number of waiting tasks, StarPU's is large: fewer tasks, in their favour.
                omp_gcc.stencil | omp_gcc.fanout) [ "$w" -gt 1 ] && [ -z "$quick" ] || n=4096 ;;
                starpu.*) [ "$n" -le 16384 ] || n=16384 ;;
                floor.*) [ "$w" = 1 ] || continue ;;
                esac
                attempt "$program" time pattern=$pattern tasks=$n workers="$w" repeats="$repeats" || true
            done
        done
    done
}

stage_metg() {
    times=$(((repeats + 1) / 2))
    for w in $workers; do
        for program in $programs; do
            case $program in floor | tbb_task_group) continue ;; esac
            n=16384
            case $quick.$program in .* | *.norn) ;; *) n=4096 ;; esac
            attempt "$program" metg workers="$w" tasks=$n repeats=$times seconds=$((limit / 3)) || true
        done
    done
}

# Curves and single figures are taken with two workers.
stage_tasks() {
    for program in $programs; do
        case $program in floor | tbb_task_group | tbb_flow_rerun) continue ;; esac
        list=$sizes
        [ "$program" != starpu ] || list="1000 10000 100000"
        grow "$program" "$list" time pattern=stencil workers=2 window=1000 tasks=@
    done
}
stage_held() {
    for program in $programs; do
        case $program in floor | tbb_flow_rerun) continue ;; esac
        list=$sizes
        [ "$program" != starpu ] || list="1000 10000 100000"
        grow "$program" "$list" held pattern=stencil workers=2 tasks=@
        grow "$program" "10000 100000 1000000" held pattern=independent workers=2 tasks=@
    done
}
stage_accesses() {
    for program in $programs; do
        case $program in floor | tbb_task_group) continue ;; esac
        grow "$program" "$counts" time pattern=accesses workers=2 tasks=4096 accesses=@
    done
}
stage_idle() {
    for program in $programs; do
        case $program in floor | tbb_flow_rerun) continue ;; esac
        attempt "$program" idle pattern=independent workers=2 tasks=1024 seconds=$seconds || true
    done
}
stage_wake() {
    for program in $programs; do
        case $program in floor | tbb_flow*) continue ;; esac
        attempt "$program" wake workers=2 repeats=$wakes || true
    done
}
stage_cholesky() {
    for w in $workers; do
        [ "$w" -gt 1 ] || continue
        for program in norn omp_gcc omp_clang starpu; do
            attempt cholesky_$program n=$matrix tile=128 workers="$w" repeats=$(((repeats + 1) / 2)) || true
        done
    done
}

{
    printf '{"measure":"machine","processor":"%s","cpus":%s,"kernel":"%s","date":"%s","quick":%s}\n' \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(grep -c '^processor' /proc/cpuinfo)" \
        "$(uname -r)" "$(date -u +%Y-%m-%d)" "$([ -n "$quick" ] && echo true || echo false)"
} >"$raw"
round=1
while [ "$round" -le "$rounds" ]; do
    for stage in $stages; do
        say "round $round of $rounds: $stage"
        "stage_$stage"
    done
    round=$((round + 1))
done
rm -f "$out/line" "$out/errors"
printf '{"measure":"duration","seconds":%s,"cut_short":%s}\n' $(($(date +%s) - begin)) "$([ -n "$late" ] && echo true || echo false)" >>"$raw"
say "done"
