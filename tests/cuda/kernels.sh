#!/usr/bin/env bash
# Makes kernels.ptx from kernels.cu with the nvcc on PATH, for the oldest devices and drivers: nothing in it is newer
# than PTX 7.0.
set -eu
cd "$(dirname "$0")"
nvcc --ptx -arch=compute_70 -o kernels.ptx kernels.cu
sed -i -e '/^\/\//d' -e 's/^\.version .*/.version 7.0/' kernels.ptx
