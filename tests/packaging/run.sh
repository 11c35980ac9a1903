#!/usr/bin/env bash
# Checks the header, the two libraries and the package from outside, as a user
# or a packager meets them. Prints one line a check and fails if any failed.
#
#   run.sh BUILD PREFIX    the build tree of norn, and where it was installed
#
# ONLY=pattern runs the checks whose name matches.
set -u
export LC_ALL=C
top=$(cd "$(dirname "$0")/../.." && pwd)
here=$top/tests/packaging
consumers=$top/tests/consumers
build=$(cd "${1:?build tree}" && pwd)
prefix=$(cd "${2:?installed tree}" && pwd)
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$top/Cargo.toml" | head -n 1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

libdir=$(dirname "$(find "$prefix" -name libnorn.so | head -n 1)")
library=$libdir/libnorn.so
archive=$libdir/libnorn.a
# Further builds of norn in here reuse what cargo has built for the first.
CARGO_TARGET_DIR=$(sed -n 's/^NORN_CARGO_TARGET_DIR:PATH=//p' "$build/CMakeCache.txt")
export CARGO_TARGET_DIR
strict="-Wall -Wextra -Wpedantic -Werror -Wshadow"
passed=0
failed=0

# check NAME COMMAND...: one line; the output only when it failed.
check() {
    local name=$1
    shift
    case $name in *${ONLY:-}*) ;; *) return 0 ;; esac
    # Not as the condition of the if: there the shell ignores errexit.
    (
        set -e -o pipefail
        "$@"
    ) >"$work/log" 2>&1 </dev/null
    local status=$?
    if [ "$status" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok $((passed + failed)) - $name"
    else
        failed=$((failed + 1))
        echo "not ok $((passed + failed)) - $name"
        tail -n 40 "$work/log" | sed 's/^/    /'
    fi
}

has() { command -v "$1" >/dev/null; }
no() { ! grep "$@"; }
same() { diff -u "$1" "$2" || { echo "$3"; return 1; }; }
dynamic() { readelf -dW "$library"; }

# --- header -----------------------------------------------------------------

header_compiles() { # compiler standard, then flags
    local compiler=$1 standard=$2 source
    shift 2
    for source in header_first header_last header_cuda; do
        # shellcheck disable=SC2086 # a list of flags
        "$compiler" -std="$standard" $strict "$@" -fsyntax-only -I "$prefix/include" "$here/$source.c"
    done
}

dl_header_links() { # compiler standard, then flags: without libnorn, at two levels of optimisation
    local compiler=$1 standard=$2 source level
    shift 2
    for source in header_dl_first header_dl_last; do
        for level in -O0 -O2; do
            # shellcheck disable=SC2086 # a list of flags
            "$compiler" -std="$standard" $level $strict "$@" -I "$prefix/include" "$here/$source.c" -o "$source" -ldl
            NORN_LIBRARY='' LD_LIBRARY_PATH='' "./$source"
        done
    done
    readelf -dW header_dl_first | no libnorn
}
headers_installed() {
    local header
    for header in norn.h norn_dl.h norn_cuda.h norn_mpi.h; do cmp "$top/include/$header" "$prefix/include/$header"; done
}

check "header: include/norn.h is what src/abi says" "$top/tools/header.sh" --check
check "header: include/norn_dl.h is what include/norn.h says" "$top/tools/dl_header.py" --check
check "header: the installed ones are the committed ones" headers_installed
# A device is a device: whose it is only comments say, and norn_cuda.h.
no_word_cuda() {
    local header
    for header in norn.h norn_dl.h; do sed 's,//.*,,' "$top/include/$header" | no -iE 'cuda|CUstream|CUevent'; done
}
check "header: no type of CUDA's, and no name with the word" no_word_cuda
for compiler in gcc clang; do
    has $compiler || continue
    for standard in c99 c11 c17 c2x; do
        check "header: $compiler $standard" header_compiles $compiler $standard -x c
        check "norn_dl.h: $compiler $standard" dl_header_links $compiler $standard -Wconversion -Wstrict-prototypes \
            -Wmissing-prototypes -x c
    done
    for standard in c++11 c++17 c++20; do
        check "header: $compiler $standard" header_compiles $compiler $standard -x c++ -Wold-style-cast
        check "norn_dl.h: $compiler $standard" dl_header_links $compiler $standard -Wconversion -Wold-style-cast \
            -Wzero-as-null-pointer-constant -x c++
    done
done

# --- version and layout -----------------------------------------------------

program() { # name, then sources and flags: a program that uses the installed shared library
    local name=$1
    shift
    # shellcheck disable=SC2086 # a list of flags
    cc -std=c11 $strict -I "$prefix/include" -o "$name" "$@" -L "$libdir" -lnorn
}
run() { LD_LIBRARY_PATH=$libdir "$@"; }
version_agrees() { program version "$here/version.c" && run ./version "$version"; }
layout_holds() { program abi_layout "$here/abi_layout.c" && run ./abi_layout; }

check "version: Cargo.toml, header and library agree" version_agrees
check "layout: sizes and offsets of the ABI structures" layout_holds

# --- symbols ----------------------------------------------------------------

symbols_committed() {
    "$top/tools/abi.sh" symbols "$library" >is
    same "$here/symbols.txt" is "a new function: add it to cmake/norn.map and run 'make abi'; one that is gone breaks programs (docs/versioning.md)"
}
symbols_declared() {
    "$top/tools/prototypes.sh" | sed -e 's/(.*//' -e 's/.*[ *]//' | sort >declared
    cut -d ' ' -f 1 "$here/symbols.txt" >exported
    same exported declared "tests/packaging/symbols.txt and the functions of norn.h differ"
}
symbols_mapped() {
    sed -n 's/^ *\(norn_[a-z0-9_]*\);.*/\1/p' "$top/cmake/norn.map" | sort >mapped
    cut -d ' ' -f 1 "$here/symbols.txt" >exported
    same mapped exported "cmake/norn.map and tests/packaging/symbols.txt differ"
}
symbols_versioned() {
    no -v ' NORN_[0-9.]*$' "$here/symbols.txt"
    readelf -VW "$library" | grep 'Name: NORN_0.1'
}
archive_local() {
    nm -g --defined-only "$archive" | sed -n 's/^[0-9a-f]* [A-Z] //p' | sort >globals
    cut -d ' ' -f 1 "$here/symbols.txt" >exported
    same exported globals "the static library has other global symbols than the shared one"
}
abi_same() {
    "$top/tools/abi.sh" dump now.abi
    abidiff "$here/norn.abi" now.abi || {
        echo "the types of the API have changed; docs/versioning.md says what may change and how to refresh the dump"
        return 1
    }
}

check "symbols: libnorn.so exports the committed list" symbols_committed
check "symbols: the list is what norn.h declares" symbols_declared
check "symbols: the list is what the version script names" symbols_mapped
check "symbols: each has a version node" symbols_versioned
check "symbols: libnorn.a has the same globals and no others" archive_local
if has abidiff; then
    check "abi: no difference from the committed dump" abi_same
fi

# --- the ELF file -----------------------------------------------------------

links() {
    [ "$(readlink "$libdir/libnorn.so")" = libnorn.so.0 ]
    [ "$(readlink "$libdir/libnorn.so.0")" = "libnorn.so.$version" ]
    [ -f "$libdir/libnorn.so.$version" ]
    [ ! -L "$libdir/libnorn.so.$version" ]
}
soname() { dynamic | grep -F 'soname: [libnorn.so.0]'; }
no_rpath() { dynamic | no -E 'RPATH|RUNPATH'; }
no_textrel() { dynamic | no TEXTREL; }
flags() {
    dynamic | grep FLAGS_1 | grep NODELETE | grep NOW
    readelf -lW "$library" | grep GNU_RELRO
}
no_exec_stack() { readelf -lW "$library" | grep GNU_STACK | grep 'RW ' ; }
no_constructors() { # but the one with which Rust's standard library keeps argc and argv
    readelf -SW "$archive" | grep -oE '\.(init|fini|preinit)_array[^ ]*|\.[cd]tors[^ ]*' | no -vFx .init_array.00099
}
needed() { # nothing but the C library and the unwinder
    dynamic | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | no -vE '^(libc|libm|libdl|libpthread|librt|libutil|libgcc_s|ld-linux[-a-z0-9_]*)\.so\.[0-9]+$'
}
glibc() {
    objdump -T "$library" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1 >newest
    [ "$(printf 'GLIBC_2.34\n%s\n' "$(cat newest)" | sort -V | tail -n 1)" = GLIBC_2.34 ] || {
        echo "needs $(cat newest); docs/versioning.md promises 2.34"
        return 1
    }
}
native_libraries() {
    rustc --crate-type staticlib --print native-static-libs -o empty.a - 2>&1 </dev/null |
        sed -n 's/.*native-static-libs: //p' | tr ' ' '\n' | grep -vE '^(-lc|-lgcc_s)$' | sort >rust
    sed -n 's/^Libs.private: //p' "$libdir/pkgconfig/norn.pc" | tr ' ' '\n' | sort >ours
    same ours rust "norn_system_libraries in CMakeLists.txt differs from what rustc names"
}

check "elf: libnorn.so -> libnorn.so.0 -> libnorn.so.$version" links
check "elf: soname libnorn.so.0" soname
check "elf: no RPATH or RUNPATH" no_rpath
check "elf: no text relocations" no_textrel
check "elf: nodelete, now, relro" flags
check "elf: no executable stack" no_exec_stack
check "elf: no static constructors or destructors of norn's own" no_constructors
check "elf: needs only the C library and the unwinder" needed
check "elf: needs no glibc newer than documented" glibc
check "pkg-config: Libs.private is what rustc names" native_libraries

# --- two Rust libraries in one program --------------------------------------

second_rust() {
    [ -f second.a ] && return 0
    cargo build --quiet --release --locked --manifest-path "$here/second_rust/Cargo.toml" --target-dir second_rust
    cp second_rust/release/libsecond_rust.a second.a
}
two_rusts() { # compiler, then flags
    local compiler=$1
    shift
    second_rust
    "$compiler" -o two_rusts -I "$prefix/include" "$here/second_rust/two_rusts.c" "$@" -lpthread -ldl -lm
    run ./two_rusts
}
localised() { # as cmake/NornObject.cmake makes norn.o: unwinding still works through it
    second_rust
    ld -r --force-group-allocation --undefined=second_rust_catches -o second.all.o second.a
    objcopy --keep-global-symbol=second_rust_catches second.all.o second.o
    two_rusts cc second.o "$archive"
}

check "two Rust libraries: both static" two_rusts cc "$archive" second.a
check "two Rust libraries: both static, other order, sections collected" two_rusts cc -Wl,--gc-sections second.a "$archive"
has clang && check "two Rust libraries: both static, clang" two_rusts clang "$archive" second.a
check "two Rust libraries: shared norn, static other" two_rusts cc -L "$libdir" -lnorn second.a
check "two Rust libraries: both localised, panics caught" localised

absent_covers() { # absent.c calls every function that there is
    cut -d ' ' -f 1 "$here/symbols.txt" | while read -r name; do
        grep -qw "$name" "$consumers/optional/absent.c" || { echo "absent.c does not call $name"; exit 1; }
    done
}
check "norn_dl.h: the test without a library calls every function" absent_covers

# --- the package ------------------------------------------------------------

no_build_paths() { no -rIlF -e "$build" -e "$top" "$1"; }
quiet_cmake() {
    local flags="-Wall -Wextra -Wpedantic -Werror"
    cmake --no-warn-unused-cli -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_BUILD_TYPE="${type:-}" "$@"
}
consumer() { # name of the project, folder to build in, then options
    local project=$1 folder=$2
    shift 2
    rm -rf "$folder"
    quiet_cmake -S "$consumers/$project" -B "$folder" "$@"
    cmake --build "$folder"
    (cd "$folder" && ctest --output-on-failure)
}
another_norn() { # sources, folder, then options: a build of norn that reuses cargo's work
    local sources=$1 folder=$2
    shift 2
    ${without_network:-} cmake -S "$sources" -B "$folder" "$@"
    ${without_network:-} cmake --build "$folder" --parallel 2
}
optional() { # build folder, generator, C compiler, C++ compiler
    CC=$3 CXX=$4 consumer optional "$1" -G "$2" -DCMAKE_PREFIX_PATH="$prefix"
    readelf -dW "$1/loaded" "$1/libplugin.so" | no libnorn
}
optional_pkg_config() { # the flags of norn-dl.pc name no libnorn, and a program built with them does without
    # shellcheck disable=SC2046 # a list of flags
    cc -std=c99 -o absent "$consumers/optional/absent.c" $(PKG_CONFIG_PATH="$libdir/pkgconfig" pkg-config --cflags --libs norn-dl)
    env -u NORN_LIBRARY LD_LIBRARY_PATH='' ./absent
}
moved() {
    cp -a "$prefix" moved
    type=Debug consumer installed c1 -G Ninja -DCMAKE_PREFIX_PATH="$work/moved"
    readelf -dW c1/smoke_c | grep -F 'NEEDED' | grep -F '[libnorn.so.0]'
    ldd c1/smoke_c | grep -F "$work/moved"
    readelf -dW c1/static_c | no -E 'libnorn|NODELETE'
    readelf -dW c1/libplugin_c.so | grep NODELETE
}
cxx_moved() {
    cp -a "$prefix" moved3
    type=Debug consumer cxx x1 -G Ninja -DCMAKE_PREFIX_PATH="$work/moved3"
    cmp "$top/bindings/cpp/norn.hpp" "$(find moved3 -name norn.hpp)"
    # shellcheck disable=SC2046 # a list of flags
    c++ -std=c++17 -o pc_cxx "$consumers/cxx/smoke.cpp" \
        $(PKG_CONFIG_PATH="moved3/${libdir#"$prefix"/}/pkgconfig" pkg-config --cflags --libs norn-cxx)
    LD_LIBRARY_PATH="moved3/${libdir#"$prefix"/}" ./pc_cxx
}
cxx_build_tree() { type=Release consumer cxx x2 -G "Unix Makefiles" -Dnorn_DIR="$build"; }
cxx_subdirectory() { type=Release consumer cxx x3 -G Ninja -DNORN_SOURCE_DIR="$top"; }
build_tree() { type=RelWithDebInfo consumer installed c2 -G "Unix Makefiles" -Dnorn_DIR="$build"; }
only() { # one language enabled, and no other
    consumer installed "only_$1" -G Ninja -DCONSUMER_LANGUAGES="$1" -DCMAKE_PREFIX_PATH="$prefix"
}
subdirectory() {
    type=Debug consumer subdirectory c3 -G "Unix Makefiles" -DNORN_SOURCE_DIR="$top"
    readelf -dW c3/norn/libnorn.so | no -E 'RPATH|RUNPATH'
}
subdirectory_ninja() { type=Release consumer subdirectory c4 -G Ninja -DNORN_SOURCE_DIR="$top"; }
with_pkg_config() { # folder of the .pc, then flags of pkg-config
    local pc=$1
    shift
    PKG_CONFIG_PATH=$pc pkg-config --exists "norn >= 0.1"
    # shellcheck disable=SC2046 # a list of flags
    cc -o pc_smoke "$consumers/smoke.c" $(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs "$@" norn)
    LD_LIBRARY_PATH=$(PKG_CONFIG_PATH=$pc pkg-config --variable=libdir norn) ./pc_smoke
}
pkg_config_moved() {
    cp -a "$prefix" moved2
    with_pkg_config "$work/moved2/${libdir#"$prefix"/}/pkgconfig"
}
staged() { # DESTDIR, multiarch LIBDIR, nested INCLUDEDIR, parallel make, linked by clang where there is one
    another_norn "$top" n1 -G "Unix Makefiles" -DCMAKE_INSTALL_PREFIX=/opt/norn -DCMAKE_C_COMPILER="$(has clang && echo clang || echo cc)" \
        -DCMAKE_INSTALL_LIBDIR=lib/x86_64-linux-gnu -DCMAKE_INSTALL_INCLUDEDIR=include/norn/0.1
    DESTDIR=$work/stage cmake --install n1
    [ ! -e /opt/norn ]
    mv stage/opt/norn unpacked
    [ -f unpacked/include/norn/0.1/norn.h ]
    no_build_paths unpacked
    no -rIlF -e "$work" -e /opt/norn unpacked
    consumer installed c5 -G Ninja -DCMAKE_PREFIX_PATH="$work/unpacked"
    with_pkg_config "$work/unpacked/lib/x86_64-linux-gnu/pkgconfig"
}
static_only() {
    another_norn "$top" n2 -G Ninja -DNORN_BUILD_SHARED=OFF -DCMAKE_INSTALL_LIBDIR=lib64
    cmake --install n2 --prefix static
    [ -f static/lib64/libnorn.a ]
    [ ! -e static/lib64/libnorn.so ]
    consumer installed c6 -G "Unix Makefiles" -Dnorn_DIR="$work/static/lib64/cmake/norn"
    consumer cxx x4 -G Ninja -Dnorn_DIR="$work/static/lib64/cmake/norn"
    with_pkg_config "$work/static/lib64/pkgconfig" --static
}
layer_gone() { # component, its language, the file that makes it: without the file it is refused by name
    [ -n "$(find "$prefix" -name "$3")" ] || return 0 # this norn has no such layer
    cp -a "$prefix" "without_$1"
    find "without_$1" -name "$3" -delete
    mkdir -p "gone_$1"
    printf 'cmake_minimum_required(VERSION 3.20)\nproject(g LANGUAGES %s)\nfind_package(norn CONFIG REQUIRED COMPONENTS %s)\n' \
        "$2" "$1" >"gone_$1/CMakeLists.txt"
    cmake -S "gone_$1" -B "gone_$1/b" -DCMAKE_PREFIX_PATH="$prefix"
    rm -r "gone_$1/b"
    if cmake -S "gone_$1" -B "gone_$1/b" -DCMAKE_PREFIX_PATH="$work/without_$1" >gone.log 2>&1; then return 1; fi
    tr -s ' \n' ' ' <gone.log | grep -F "installed without its component $1"
}
refused() { # text that the message has, then the arguments of find_package
    local text=$1
    shift
    mkdir -p refuse
    printf 'cmake_minimum_required(VERSION 3.20)\nproject(r NONE)\nfind_package(norn %s REQUIRED)\n' "$*" >refuse/CMakeLists.txt
    if cmake -S refuse -B refuse/b -DCMAKE_PREFIX_PATH="$prefix" >refuse/log 2>&1; then return 1; fi
    tr -s ' \n' ' ' <refuse/log | grep -F "$text"
}
optional_components() { # what is not there is reported by variable, and norn is found all the same
    mkdir -p components
    cat >components/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.20)
project(components LANGUAGES C)
find_package(norn 0.1 CONFIG REQUIRED COMPONENTS shared static dl OPTIONAL_COMPONENTS mpi Fortran)
foreach(wanted norn_FOUND norn_shared_FOUND norn_static_FOUND norn_dl_FOUND TRUE)
  if(NOT ${wanted})
    message(FATAL_ERROR "${wanted} is not set")
  endif()
endforeach()
# Fortran is not enabled here, whatever was installed.
if(norn_mpi_FOUND OR norn_Fortran_FOUND)
  message(FATAL_ERROR "a component is found that is not there")
endif()
CMAKE
    cmake -S components -B components/b -DCMAKE_PREFIX_PATH="$prefix"
}
spack_recipe() { python3 -B "$here/spack_recipe.py"; }
get_oldest_cmake() { # into the build folder, once
    oldest_cmake=$build/cmake-3.20
    [ -x "$oldest_cmake/bin/cmake" ] && return 0
    rm -rf "$oldest_cmake"
    timeout 120 python3 -m pip --quiet --disable-pip-version-check download cmake==3.20.5 --no-deps --only-binary :all: \
        --platform manylinux1_x86_64 --python-version 3.9 --dest wheel >wheel.log 2>&1 || return
    python3 -m zipfile -e wheel/cmake-3.20.5-*.whl wheel/content || return
    chmod +x wheel/content/cmake/data/bin/*
    mv wheel/content/cmake/data "$oldest_cmake"
}
with_oldest_cmake() { # build, install, test; Make and Ninja; components; C only
    local PATH=$oldest_cmake/bin:$PATH
    cmake --version | grep -F 3.20.5
    another_norn "$top" n6 -G "Unix Makefiles"
    cmake --install n6 --prefix by_oldest
    consumer installed c10 -G Ninja -DCMAKE_PREFIX_PATH="$work/by_oldest"
    consumer installed c11 -G "Unix Makefiles" -DCONSUMER_LANGUAGES=C -DCMAKE_PREFIX_PATH="$prefix"
    consumer subdirectory c12 -G Ninja -DNORN_SOURCE_DIR="$top"
    consumer optional c13 -G "Unix Makefiles" -DCMAKE_PREFIX_PATH="$work/by_oldest"
    optional_components
}
offline() { # from the tarball, without a registry, where the kernel lets us without a network; unoptimised, because only its success counts
    mkdir -p tarball cargo_home
    "$top/tools/tarball.sh" tarball
    tar -xzf "tarball/norn-$version.tar.gz"
    unset CARGO_TARGET_DIR
    local without_network=
    if unshare --net true 2>/dev/null; then without_network="unshare --net"; fi
    CARGO_HOME=$work/cargo_home CARGO_NET_OFFLINE=true CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=0 \
        another_norn "norn-$version" n3 -G Ninja
    [ -z "$(find cargo_home -name '*.crate')" ]
    consumer installed c7 -G Ninja -Dnorn_DIR="$work/n3"
}

check "package: installed text files name no build path" no_build_paths "$prefix"
check "package: install tree moved, Ninja, Debug; needs libnorn.so.0" moved
check "package: build tree, Make, RelWithDebInfo" build_tree
check "package: a project with the language C only" only C
check "package: a project with the language C++ only" only CXX
check "package: norn::cxx and norn-cxx.pc, moved" cxx_moved
check "package: norn::cxx, build tree" cxx_build_tree
check "package: norn::cxx, add_subdirectory" cxx_subdirectory
check "package: add_subdirectory, Make, Debug" subdirectory
check "package: add_subdirectory, Ninja, Release" subdirectory_ninja
check "package: pkg-config, moved" pkg_config_moved
check "package: DESTDIR, multiarch libdir, nested includedir, clang" staged
check "package: static only, lib64" static_only
check "norn_dl.h: absent, found, older, newer, refused; gcc, Ninja" optional c8 Ninja gcc g++
has clang++ && check "norn_dl.h: absent, found, older, newer, refused; clang, Make" optional c9 "Unix Makefiles" clang clang++
check "norn_dl.h: pkg-config" optional_pkg_config
check "package: a newer minor version is refused" refused "version: $version" 0.2 CONFIG
check "package: an older minor version is refused" refused "version: $version" 0.0 CONFIG
check "package: an unknown component is refused by name" refused 'installed without its component mpi' 0.1 CONFIG COMPONENTS shared mpi
check "package: Fortran without the language Fortran is refused by name" refused 'component Fortran' 0.1 CONFIG COMPONENTS Fortran
check "package: the C++ layer, if it was left out, is refused by name" layer_gone CXX CXX norn.hpp
check "package: the Fortran layer, if it was left out, is refused by name" layer_gone Fortran Fortran NornFortran.cmake
check "package: optional components" optional_components
check "package: the Spack recipe agrees with Cargo.toml and CMakeLists.txt" spack_recipe
case "package: CMake 3.20" in *${ONLY:-}*) wanted=yes ;; *) wanted= ;; esac
if [ -z "$wanted" ]; then
    :
elif get_oldest_cmake; then
    check "package: CMake 3.20" with_oldest_cmake
else
    echo "# CMake 3.20 left out: $(tail -n 1 wheel.log 2>/dev/null) (pip download cmake==3.20.5 needs python3-pip and a network)"
fi
check "package: builds offline from the tarball" offline

# shellcheck source=tests/packaging/debian.sh
. "$here/debian.sh"
# shellcheck source=tests/packaging/fortran.sh
. "$here/fortran.sh"

echo "packaging: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
