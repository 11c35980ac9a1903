#!/usr/bin/env bash
# Builds norn's task benchmark and those of the peers that are installed, runs
# them in turn on this machine, and prints one table: median ns per task.
#
#   run.sh [PREFIX]      PREFIX: an installed norn (default build/prefix)
#
# NTASKS (65536) and REPEATS (7) may be set; ROUNDS (3) processes of each are
# interleaved and the median of their medians is shown, because one process may
# be unlucky with its memory or its neighbours.
set -eu
cd "$(dirname "$0")"
prefix=$(realpath "${1:-../build/prefix}")
out=../build/bench
mkdir -p "$out"
flags="-std=c++17 -O3 -DNDEBUG -Wall -Wextra"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig:$prefix/lib64/pkgconfig:${PKG_CONFIG_PATH:-}

build() { # NAME COMPILER SOURCE ARGUMENT...
    local name=$1 compiler=$2 source=$3
    shift 3
    if "$compiler" $flags "$source" -o "$out/$name" "$@" 2>"$out/$name.log"; then
        built="$built $name"
    else
        echo "left out: $name ($(tail -n 1 "$out/$name.log"))" >&2
    fi
}
built=
build norn g++ norn.cpp $(pkg-config --cflags --libs norn) -Wl,-rpath,"$prefix/lib"
build floor g++ floor.cpp
build omp_gcc g++ omp.cpp -fopenmp -DRUNTIME='"omp_gcc"'
build omp_clang clang++ omp.cpp -fopenmp -DRUNTIME='"omp_clang"'
build tbb_flow g++ tbb.cpp -DVARIANT=0 -ltbb
build tbb_task_group g++ tbb.cpp -DVARIANT=2 -ltbb
if pkg-config --exists starpu-1.3; then
    build starpu g++ starpu.cpp $(pkg-config --cflags --libs starpu-1.3)
fi

ntasks=${NTASKS:-65536} repeats=${REPEATS:-7} rounds=${ROUNDS:-3}
# libgomp's cost grows with the number of waiting tasks: with one worker, fewer.
for round in $(seq "$rounds"); do
    for workers in 1 2; do
        for pattern in independent chain stencil wavefront fanout; do
            for program in $built; do
                n=$ntasks
                case $program.$pattern.$workers in omp_gcc.stencil.1 | omp_gcc.fanout.1) n=8192 ;; esac
                timeout 60 "$out/$program" $pattern $n $workers 0 "$repeats" 2>/dev/null |
                    sed "s/\"runtime\":\"[^\"]*\"/\"runtime\":\"$program\"/" || true
            done
        done
    done
done >"$out/raw.jsonl"

python3 - "$out/raw.jsonl" <<'PY'
import collections, json, statistics, sys
cells, programs = collections.defaultdict(list), []
for line in open(sys.argv[1]):
    run = json.loads(line)
    cells[run["runtime"], run["pattern"], run["workers"]].append(run["ns_per_task_median"])
    if run["runtime"] not in programs:
        programs.append(run["runtime"])
patterns = ["independent", "chain", "stencil", "wavefront", "fanout"]
for workers in (1, 2):
    print(f"\nns per task, empty bodies, {workers} worker{'s' if workers > 1 else ''}")
    print(f"{'':16}" + "".join(f"{pattern:>13}" for pattern in patterns))
    for program in programs:
        row = [cells.get((program, pattern, workers)) for pattern in patterns]
        print(f"{program:16}" + "".join(f"{statistics.median(cell):13.1f}" if cell else f"{'-':>13}" for cell in row))
PY
