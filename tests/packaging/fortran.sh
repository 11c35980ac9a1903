# The Fortran module as a package, for projects with Fortran alone. Sourced by run.sh.
# shellcheck shell=bash disable=SC2154 # what run.sh sets

fortran=$(command -v "${FC:-gfortran}" || true)
# Before 20 Flang cannot compile assumed-rank arguments.
flang=$(compgen -c | grep -xE 'flang(-new)?(-2[0-9])?' | sort | tail -n 1)
case $("${flang:-true}" --version 2>&1) in *"version 1"[0-9].*) flang= ;; esac
fortran_moved() { # compiler
    rm -rf moved3
    cp -a "$prefix" moved3
    consumer fortran f1 -G Ninja -DCMAKE_PREFIX_PATH="$work/moved3" -DCMAKE_Fortran_COMPILER="$1"
    [ "$(find f1 -name norn.mod | wc -l)" -eq 1 ]
}
fortran_build_tree() { consumer fortran f2 -G "Unix Makefiles" -Dnorn_DIR="$build" -DCMAKE_Fortran_COMPILER="$fortran"; }
fortran_subdirectory() { consumer fortran f3 -G Ninja -DNORN_SOURCE_DIR="$top" -DCMAKE_Fortran_COMPILER="$fortran"; }
fortran_static() {
    consumer fortran f4 -G Ninja -Dnorn_DIR="$work/static/lib64/cmake/norn" -DCMAKE_Fortran_COMPILER="$fortran"
    readelf -dW f4/smoke | no -E libnorn
}
fortran_pkg_config() {
    cp -a "$prefix" moved4
    mkdir -p f5
    PKG_CONFIG_PATH=$work/moved4/${libdir#"$prefix"/}/pkgconfig
    export PKG_CONFIG_PATH
    # shellcheck disable=SC2046 # lists of files and flags
    (cd f5 && "$fortran" $(pkg-config --variable=sources norn-fortran) "$consumers/fortran/smoke.f90" -o smoke $(pkg-config --libs norn-fortran))
    LD_LIBRARY_PATH=$(pkg-config --variable=libdir norn) f5/smoke
}
if [ -n "$fortran" ]; then
    check "fortran: install tree moved, Fortran alone, Ninja" fortran_moved "$fortran"
    # Module files of one compiler are no use to another: each compiles the sources.
    if [ -n "$flang" ]; then
        check "fortran: another compiler, $flang" fortran_moved "$(command -v "$flang")"
    fi
    check "fortran: build tree, Make" fortran_build_tree
    check "fortran: add_subdirectory" fortran_subdirectory
    if [ -d static ]; then
        check "fortran: static only" fortran_static
    fi
    check "fortran: pkg-config, moved" fortran_pkg_config
else
    echo "left out: the Fortran checks, there is no Fortran compiler"
fi
