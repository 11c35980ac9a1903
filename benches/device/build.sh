#!/bin/sh
# Builds the device benchmark against an installed norn:
#
#   build.sh PREFIX OUT
#
# OUT/device then runs where OUT is carried to, with libnorn.so.0 beside it: a C compiler and no CUDA header is needed.
set -eu
prefix=${1:?prefix of norn}
out=${2:?folder for the program}
mkdir -p "$out"
library=$(find "$prefix/" -name 'libnorn.so.0' | head -1)
cp -L "$library" "$out/libnorn.so.0"
${CC:-cc} -std=c11 -O2 -Wall -Wextra -Werror -I"$prefix/include" -o "$out/device" "$(dirname "$0")/device.c" "$out/libnorn.so.0" \
    -ldl '-Wl,-rpath,$ORIGIN'
