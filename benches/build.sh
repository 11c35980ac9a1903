#!/bin/sh
# Builds norn's benchmark programs and those of the peers that are installed, for any
# processor of this architecture, and notes the versions.
#
#   build.sh PREFIX OUT      PREFIX: an installed norn; the programs go to OUT/bin
set -eu
prefix=$(realpath "$1")
mkdir -p "$2/bin"
out=$(realpath "$2")
cd "$(dirname "$0")"
rm -f "$out"/bin/*
flags="-std=c++17 -O3 -DNDEBUG -Wall -Wextra -pthread"
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig:$prefix/lib64/pkgconfig:${PKG_CONFIG_PATH:-}"

build() { # NAME COMPILER SOURCE ARGUMENT...
    name=$1 compiler=$2 source=$3
    shift 3
    log=$out/bin/$name.log
    # shellcheck disable=SC2086 # a list of flags
    if "$compiler" $flags "$source" -o "$out/bin/$name" "$@" 2>"$log"; then
        rm "$log"
    else
        echo "left out: $name ($(grep -m 1 -i error "$log" || tail -n 1 "$log"))" >&2
    fi
}
norn="$(pkg-config --cflags --libs norn) -Wl,-rpath,$(pkg-config --variable=libdir norn)"
blas=$(pkg-config --cflags --libs openblas 2>/dev/null) || blas="-lopenblas"
starpu=$(pkg-config --cflags --libs starpu-1.3 2>/dev/null) || starpu="-lstarpu-1.3"

# shellcheck disable=SC2086 # lists of flags
{
    build floor g++ floor.cpp &
    build norn g++ norn.cpp $norn &
    build norn_cpp g++ norn_cpp.cpp $norn &
    build omp_gcc g++ omp.cpp -fopenmp &
    build omp_clang clang++ omp.cpp -fopenmp &
    build starpu g++ starpu.cpp $starpu &
    build tbb_task_group g++ tbb.cpp -DVARIANT=2 -ltbb &
    build tbb_flow g++ tbb.cpp -DVARIANT=0 -ltbb &
    build tbb_flow_rerun g++ tbb.cpp -DVARIANT=1 -ltbb &
    build cholesky_norn g++ cholesky_norn.cpp $norn $blas &
    build cholesky_omp_gcc g++ cholesky_omp.cpp -fopenmp $blas &
    build cholesky_omp_clang clang++ cholesky_omp.cpp -fopenmp -Wno-c99-extensions $blas &
    build cholesky_starpu g++ cholesky_starpu.cpp $starpu $blas &
    wait
}
# Messages between ranks, under each MPI of the distribution; StarPU's are for the one that it is linked with.
flags="-std=gnu11 -O3 -DNDEBUG -Wall -Wextra -Wno-stringop-overflow" # of MPI_STATUSES_IGNORE as MPICH declares it
for mpi in openmpi mpich; do
    command -v mpicc.$mpi >/dev/null || continue
    # shellcheck disable=SC2086 # lists of flags
    for name in mpi_edges mpi_heat mpi_late; do build ${name}_$mpi mpicc.$mpi $name.c $norn; done
done
if pkg-config --exists starpumpi-1.3 && command -v mpicc.openmpi >/dev/null; then
    # shellcheck disable=SC2046 # a list of flags
    build mpi_edges_starpu mpicc.openmpi mpi_edges_starpu.c $(pkg-config --cflags --libs starpumpi-1.3)
fi
for name in floor norn norn_cpp; do # the others are peers, or need OpenBLAS
    [ ! -e "$out/bin/$name.log" ] || { cat "$out/bin/$name.log" >&2 && exit 1; }
done
rm -f "$out"/bin/*.log

{
    echo "norn $(pkg-config --modversion norn)"
    echo "gcc, libgomp $(g++ -dumpfullversion)"
    ! command -v clang++ >/dev/null || echo "clang, libomp $(clang++ -dumpversion)"
    echo "oneTBB $(pkg-config --modversion tbb 2>/dev/null || echo -)"
    echo "StarPU $(pkg-config --modversion starpu-1.3 2>/dev/null || echo -)"
    echo "OpenBLAS $(pkg-config --modversion openblas 2>/dev/null || echo -)"
} >"$out/versions.txt"
