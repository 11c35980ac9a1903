#!/bin/sh
# Builds the device benchmarks against an installed norn:
#
#   build.sh PREFIX OUT
#
# OUT/device, OUT/copies and OUT/potrf then run where OUT is carried to, with libnorn.so.0 beside them: a C compiler and no
# CUDA header is needed.
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
