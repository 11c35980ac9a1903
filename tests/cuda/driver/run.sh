#!/usr/bin/env bash
# Runs the tests of the stand-in driver: that it behaves as a driver does, and that its checker finds each planted
# misuse and nothing in right use.
#
#   run.sh BUILD    where CMake built this folder
#
# ONLY=pattern runs the cases whose name matches. SEEDS="1 2 3" runs each case with these (one by default). REAL=1 runs
# the cases that hold for any driver on the one that the loader finds.
set -u
export LC_ALL=C
build=$(cd "${1:?build tree}" && pwd)
for variable in $(compgen -e | grep -E '^(STANDIN_|CUDA_VISIBLE_DEVICES)'); do unset "$variable"; done
[ -n "${REAL:-}" ] || export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
passed=0
failed=0
skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

for program in "$build"/tests/*; do
    if [ ! -f "$program" ] || [ ! -x "$program" ]; then continue; fi
    for name in $("$program" list); do
        case $name in *${ONLY:-}*) ;; *) continue ;; esac
        for seed in ${SEEDS:-1}; do
            # A variant of a case is run with the settings that its name gives.
            settings=$("$program" settings "$name")
            title="${program##*/}: $name${SEEDS:+ (seed $seed)}"
            # shellcheck disable=SC2086 # several assignments
            timeout 60 env STANDIN_SEED="$seed" $settings "$program" "$name" >"$log" 2>&1 </dev/null
            status=$?
            if [ "$status" -eq 77 ]; then
                skipped=$((skipped + 1))
            elif [ "$status" -eq 0 ]; then
                passed=$((passed + 1))
                echo "ok $((passed + failed)) - $title"
            else
                failed=$((failed + 1))
                echo "not ok $((passed + failed)) - $title (status $status)"
                tail -n 20 "$log" | sed 's/^/    /'
            fi
        done
    done
done
[ "$skipped" -eq 0 ] || echo "# $skipped left out: not for this driver or this build"
echo "standin: $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
