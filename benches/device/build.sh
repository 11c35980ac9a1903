#!/bin/sh
# Builds the device benchmarks against an installed norn:
#
#   build.sh PREFIX OUT
#
# OUT/device, OUT/copies and OUT/potrf then run where OUT is carried to, with libnorn.so.0 beside them: a C compiler and no
# CUDA header is needed. OUT/paced holds a driver without a device (paced.c), for LD_LIBRARY_PATH.
set -eu
prefix=${1:?prefix of norn}
out=${2:?folder for the programs}
mkdir -p "$out"
library=$(find "$prefix/" -name 'libnorn.so.0' | head -1)
cp -L "$library" "$out/libnorn.so.0"
for name in device copies potrf; do
    ${CC:-cc} -std=c11 -O2 -Wall -Wextra -Werror -I"$prefix/include" -o "$out/$name" "$(dirname "$0")/$name.c" \
        "$out/libnorn.so.0" -ldl -lm '-Wl,-rpath,$ORIGIN'
done
mkdir -p "$out/paced"
${CC:-cc} -std=c11 -O2 -Wall -Wextra -Werror -shared -fPIC -o "$out/paced/libcuda.so.1" '-Wl,-soname,libcuda.so.1' \
    "$(dirname "$0")/paced.c" -lpthread
ln -sf libcuda.so.1 "$out/paced/libcuda.so"
