#!/bin/sh
# Messages between two ranks on this machine, under each MPI that the programs were built with; NOTES.md says how to read it.
#
#   mpi.sh BIN
#
# QUICK=1: fewer repetitions. A program that takes longer than LIMIT (120) seconds is ended.
set -eu
bin=$(cd "$1" && pwd)
limit=${LIMIT:-120}
if [ -n "${QUICK:-}" ] && [ "$QUICK" != 0 ]; then times=3 messages=20; else times=15 messages=100; fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# Each rank may use any core, as norn's workers need; raw MPI is measured in the same process.
two_ranks() { # MPI PROGRAM ARGUMENT...
    mpi=$1
    shift
    case $mpi in
    openmpi) set -- mpirun.openmpi --oversubscribe --bind-to none -n 2 "$@" ;;
    *) set -- "mpirun.$mpi" -n 2 "$@" ;;
    esac
    timeout --kill-after 10 "$limit" "$@" || echo "left out after status $?"
}

found=
for mpi in openmpi mpich; do
    [ -x "$bin/mpi_edges_$mpi" ] || continue
    found=1
    two_ranks $mpi "$bin/mpi_edges_$mpi" $times
    two_ranks $mpi "$bin/mpi_heat_$mpi" $times
    two_ranks $mpi "$bin/mpi_late_$mpi" $messages
    if [ $mpi = openmpi ] && [ -x "$bin/mpi_edges_starpu" ]; then
        echo "StarPU-MPI:"
        two_ranks $mpi "$bin/mpi_edges_starpu" 3
    fi
    echo
done
[ -n "$found" ] || echo "messages between ranks: left out, there is no MPI (Debian: libopenmpi-dev, libmpich-dev)"
