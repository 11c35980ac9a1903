#!/usr/bin/env bash
# Plants the defects of mutants.txt in the device lowering, one at a time, and requires that the test named there fails on the
# stand-in driver and passes without the defect. Ends with "cuda mutants: N passed, M failed".
#
#   mutants.sh STANDIN      the folder with the stand-in's libraries (tests/cuda/driver)
set -u -o pipefail
standin=$(cd "${1:?folder of the stand-in}" && pwd)
cd "$(dirname "$0")/../.." || exit 1
unset NORN_MUTANT
work=target/mutants
mkdir -p "$work"
passed=0
failed=0

RUSTFLAGS="--cfg norn_mutants" cargo rustc --lib --crate-type staticlib --target-dir "$work" || exit 1

program() {
    ${CC:-cc} -std=c11 -DNORN_KERNELS="\"$PWD/tests/cuda/kernels.ptx\"" -Iinclude -Itests/c -o "$work/$1" "tests/c/device/$1.c" \
        "$work/debug/libnorn.a" -lpthread -ldl -lm -lrt -lutil
}
# Whether a test fails, in time or by hanging, with a defect ("" for none).
fails() {
    MUTANT_OF_NORN=$2 NORN_WORKERS=2 LD_LIBRARY_PATH=$standin timeout 40 "$work/$1" >"$work/$1.${2:-none}.log" 2>&1
    [ $? -ne 0 ]
}

while read -r mutant test; do
    case $mutant in '' | '#'*) continue ;; esac
    program "$test" || exit 1
    if fails "$test" ""; then
        failed=$((failed + 1))
        echo "cuda mutants: $test fails without a defect"
    elif fails "$test" "$mutant"; then
        passed=$((passed + 1))
        sed -n 's/^standin: /caught: /p' "$work/$test.$mutant.log" | head -1
    else
        failed=$((failed + 1))
        echo "cuda mutants: $mutant is not caught by $test"
    fi
    grep -rqF "mutant!(\"$mutant\")" src || { failed=$((failed + 1)); echo "cuda mutants: $mutant is planted nowhere"; }
done <tests/cuda/mutants.txt
echo "cuda mutants: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
